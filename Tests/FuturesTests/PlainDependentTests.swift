import Foundation
import Futures
import TestSupport
import Testing

@Suite("Operations that depend on futures", .timeLimit(.minutes(5)), .oneAtATime)
struct PlainDependentTests {
  private let queue = OperationQueue()

  /// Promises that end in each way, and what ends them.
  private static let ends: [@Sendable (Promise<Int>) -> Void] = [
    { $0.succeed(with: 1) }, { $0.fail(with: TestError.first) }, { $0.cancel() },
  ]

  /// A queue of operations that nobody else keeps and that wait for a future.
  private static func queue(waitingFor future: Future<Int>, count: Int) -> OperationQueue {
    let queue = OperationQueue()
    for _ in 0..<count {
      let operation = BlockOperation {}
      operation.addDependency(future)
      queue.addOperation(operation)
    }
    return queue
  }

  @Test("an operation waits for a future, however that ends", arguments: 0..<3)
  func waits(end: Int) async {
    let promise = Promises.make(promising: Int.self)
    let ran = Event()
    let operation = BlockOperation { ran.signal() }
    operation.addDependency(promise)
    #expect(!operation.isReady && operation.dependencies.contains(promise))
    let future: Future<Int> = promise
    let derived = future.mapToValue(on: .inline) { $0 }
    operation.addDependency(derived)
    #if !canImport(Darwin)
      // What Foundation keeps bare pointers for is not the future.
      #expect(operation.dependencies.allSatisfy { !($0 is AnyFuture) })
    #endif
    queue.addOperation(operation)
    #expect(!operation.isFinished)
    Self.ends[end](promise)
    #expect(await ran.opened())
    #expect(await eventually { operation.isFinished && queue.operationCount == 0 })
  }

  @Test("an operation that depends on a future that has settled runs at once")
  func settled() async {
    let ran = Event()
    let operation = BlockOperation { ran.signal() }
    operation.addDependency(Promises.makeSucceeded(with: 1))
    #expect(operation.isReady)
    queue.addOperation(operation)
    #expect(await ran.opened())
  }

  @Test("operations that are cancelled and gone when their future settles: nothing happens")
  func cancelledDependents() async {
    for round in 0..<100 {
      let promise = Promises.make(promising: Int.self)
      let queue = Self.queue(waitingFor: promise, count: 20)
      queue.cancelAllOperations()
      #expect(await eventually { queue.operationCount == 0 })
      Self.ends[round % 3](promise)
    }
  }

  @Test("operations that are cancelled while their future settles: nothing happens")
  func cancelledMeanwhile() async {
    for _ in 0..<300 {
      let promise = Promises.make(promising: Int.self)
      let queue = Self.queue(waitingFor: promise, count: 5)
      await withTaskGroup(of: Void.self) { group in
        group.addTask { queue.cancelAllOperations() }
        group.addTask { promise.succeed(with: 1) }
      }
      #expect(await eventually { queue.operationCount == 0 })
    }
  }

  @Test("operations that were never enqueued, and are gone when their future settles")
  func forgottenDependents() {
    let promise = Promises.make(promising: Int.self)
    for _ in 0..<100 { BlockOperation {}.addDependency(promise) }
    promise.succeed(with: 1)
    #expect((try? promise.result?.get()) == 1)
  }

  @Test("an operation that nobody keeps does not keep its future: the promise is broken")
  func brokenPromise() async {
    let told = Event()
    func lose() {
      let promise = Promises.make(promising: Int.self)
      promise.onFailure(on: .inline) { _ in told.signal() }
      BlockOperation {}.addDependency(promise)
    }
    lose()
    #expect(await told.opened())
  }

  @Test("a dependency that is named twice counts once; taken back, it holds nothing up")
  func takenBack() async {
    let (first, second) = (
      Promises.make(promising: Int.self), Promises.make(promising: Int.self)
    )
    let ran = Event()
    let operation = BlockOperation { ran.signal() }
    operation.addDependency(first)
    operation.addDependency(first)
    operation.addDependency(second)
    #expect(operation.dependencies.count == 2)
    queue.addOperation(operation)
    operation.removeDependency(first)
    #expect(!operation.isReady && !operation.dependencies.contains(first))
    second.succeed(with: 2)
    #expect(await ran.opened())
    first.succeed(with: 1)
  }

  @Test("the last dependency of an operation is taken back: it runs")
  func lastTakenBack() async {
    let promise = Promises.make(promising: Int.self)
    let ran = Event()
    let operation = BlockOperation { ran.signal() }
    operation.addDependency(promise)
    queue.addOperation(operation)
    operation.removeDependency(promise)
    #expect(await ran.opened())
    promise.succeed(with: 1)
  }

  @Test("many operations depend on one future, and one on many")
  func many() async {
    let promises = (0..<50).map { _ in Promises.make(promising: Int.self) }
    let count = Counter()
    let last = BlockOperation { count.add(1000) }
    for promise in promises { last.addDependency(promise) }
    for _ in 0..<50 {
      let operation = BlockOperation { count.add() }
      operation.addDependency(promises[0])
      queue.addOperation(operation)
    }
    queue.addOperation(last)
    for promise in promises.dropLast() { promise.succeed(with: 1) }
    #expect(await eventually { count.value == 50 })
    promises.last?.succeed(with: 1)
    #expect(await eventually { count.value == 1050 })
  }
}
