import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// What already takes time in proportion to its size, and must go on doing so.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfCombinatorsTests {
  /// Between 4, which is in proportion, and 16, which is quadratic.
  private static let bound = 8.0

  /// Something that takes a count.
  struct Counted: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Does it with a number of promises, which it settles.
    let work: @Sendable ([Promise<Int>]) -> Void

    static let all: [Counted] = [
      Counted(testDescription: "collect") { promises in
        let future = Promises.collect(promises)
        settle(promises)
        precondition(future.isFulfilled)
      },
      Counted(testDescription: "collect, cancelled") { promises in
        Promises.collect(promises).cancel()
        precondition(promises.allSatisfy { $0.isCancelled })
      },
      Counted(testDescription: "collectResults of failures") { promises in
        let future = Promises.collectResults(promises)
        for promise in promises { promise.fail(with: TestError.first) }
        precondition(future.isFulfilled)
      },
      Counted(testDescription: "combine, folded") { promises in
        var folded: Future<Void> = Promises.makeSucceeded(with: ())
        for promise in promises { folded = Promises.combine(folded, promise).mapToVoid() }
        settle(promises)
        precondition(folded.isFulfilled)
      },
      Counted(testDescription: "collect of many that fail with one list of errors") { promises in
        let failing = Promises.collect(promises)
        let future = Promises.collect(promises.map { _ in failing.mapToVoid() })
        for promise in promises { promise.fail(with: TestError.first) }
        precondition(future.isFulfilled)
      },
      Counted(testDescription: "joins of one collect that fails") { promises in
        let failing = Promises.collect(promises)
        let joins = promises.map { Promises.combine(failing, $0).mapToVoid() }
        let races = promises.map { _ in Promises.race([failing, failing]) }
        for promise in promises { promise.fail(with: TestError.first) }
        precondition(joins.allSatisfy { $0.isFulfilled } && races.allSatisfy { $0.isFulfilled })
        let first = joins[0].error as? ProperationsError
        guard case .multipleErrors(let errors) = first, errors.count == 2 else {
          preconditionFailure("\(String(describing: first))")
        }
      },
      Counted(testDescription: "an alternative that fails, against itself") { promises in
        var row: Future<Int> = promises[0]
        for _ in promises { row = row || row }
        promises[0].fail(with: TestError.first)
        precondition(row.error is ProperationsError)
      },
      Counted(testDescription: "barriers of a queue one behind the other") { promises in
        let queue = OperationQueue()
        precondition((try? queue.addFuture(promises[0])) != nil)
        let barriers = promises.map { _ in queue.run(barrier: true) {} }
        promises[0].succeed(with: 1)
        queue.waitUntilAllOperationsAreFinished()
        precondition(barriers.allSatisfy { $0.isFulfilled })
      },
      Counted(testDescription: "closures that members of a queue need in front of a barrier") {
        promises in
        let queue = OperationQueue()
        let members = promises.map { $0.mapToValue(on: queue) { $0 } }
        for member in members { precondition((try? queue.addFuture(member)) != nil) }
        let barrier = queue.run(barrier: true) {}
        // One by one: the queue searches what it has, and may run it late.
        for (promise, member) in zip(promises, members) {
          promise.succeed(with: 1)
          precondition((try? member.wait()) == 1)
        }
        queue.waitUntilAllOperationsAreFinished()
        precondition(barrier.isFulfilled)
      },
      Counted(testDescription: "race, won by the last") { promises in
        let future = Promises.race(promises)
        for promise in promises.dropLast() { promise.fail(with: TestError.first) }
        promises[promises.count - 1].succeed(with: 1)
        precondition(future.result?.successValue == 1)
      },
      Counted(testDescription: "firstCompleted") { promises in
        let future = Promises.firstCompleted(promises)
        promises[promises.count / 2].succeed(with: 1)
        precondition(future.isFulfilled && promises[0].isCancelled)
      },
      Counted(testDescription: "mapElementsToFuture") { promises in
        let future = Promises.makeSucceeded(with: promises)
          .mapElementsToFuture(on: .inline, maxConcurrent: 100) { $0 }
        settle(promises)
        precondition(future.isFulfilled)
      },
      Counted(testDescription: "handlers of one future") { promises in
        let count = Counter()
        for _ in promises { promises[0].onSuccess(on: .inline) { _ in count.add() } }
        promises[0].succeed(with: 1)
        precondition(count.value == promises.count)
      },
      Counted(testDescription: "consumers of one future, cancelled from the last") { promises in
        let consumers = promises.map { _ in promises[0].mapToValue(on: .inline) { $0 } }
        for consumer in consumers.reversed() { consumer.cancel() }
        precondition(promises[0].isCancelled)
      },
      Counted(testDescription: "consumers of one future, cancelled from the first") { promises in
        let consumers = promises.map { _ in promises[0].mapToValue(on: .inline) { $0 } }
        for consumer in consumers { consumer.cancel() }
        precondition(promises[0].isCancelled)
      },
      Counted(testDescription: "a scope, cancelled") { promises in
        let scope = CancellationScope()
        for promise in promises { promise.cancelled(by: scope) }
        scope.cancel()
        precondition(promises.allSatisfy { $0.isCancelled })
      },
      Counted(testDescription: "a scope, whose futures settle") { promises in
        let scope = CancellationScope()
        for promise in promises { promise.cancelled(by: scope) }
        settle(promises)
        precondition(promises.allSatisfy { !$0.isCancelled })
      },
      Counted(testDescription: "scopes in scopes, released with the innermost") { promises in
        let outermost = CancellationScope()
        var scope = outermost
        for promise in promises {
          scope = scope.makeChild()
          promise.cancelled(by: scope)
        }
        scope = outermost
        outermost.cancel()
        precondition(promises.allSatisfy { $0.isCancelled })
      },
      Counted(testDescription: "operations that depend on one future") { promises in
        let operations = promises.map { _ in BlockOperation {} }
        for operation in operations { operation.addDependency(promises[0]) }
        promises[0].succeed(with: 1)
        precondition(operations.allSatisfy { $0.isReady })
      },
      Counted(testDescription: "ties of operations to one future") { promises in
        let operations = promises.map { _ in BlockOperation {} }
        for operation in operations { operation.cancel(onFailureOf: promises[0]) }
        promises[0].cancel()
        precondition(operations.allSatisfy { $0.isCancelled })
      },
      Counted(testDescription: "ties of futures to one operation") { promises in
        let operation = BlockOperation {}
        for promise in promises { promise.cancel(onFinishOf: operation) }
        operation.cancel()
        promises[0].cancel(onFinishOf: operation)
        precondition(promises[0].isCancelled)
      },
      Counted(testDescription: "cancellation requests of one promise") { promises in
        let count = Counter()
        for _ in promises { promises[0].onCancellationRequest { count.add() } }
        promises[0].cancel()
        precondition(count.value == promises.count)
      },
      Counted(testDescription: "promises that settle like one future") { promises in
        let source = Promise<Int>()
        for promise in promises { promise.fulfill(from: source) }
        source.succeed(with: 1)
        precondition(promises.allSatisfy { $0.isFulfilled })
      },
      Counted(testDescription: "promises with handlers that settle like one collect") { promises in
        let sources = (0..<promises.count).map { _ in Promise<Int>() }
        let collected = Promises.collect(sources).mapToValue(on: .inline) { $0.count }
        for promise in promises {
          for _ in 0..<40 { promise.onSuccess(on: .inline) { _ in } }
          promise.fulfill(from: collected)
        }
        settle(sources)
        precondition(promises.allSatisfy { $0.isFulfilled })
      },
      Counted(testDescription: "pending futures in a queue") { promises in
        let queue = OperationQueue()
        for promise in promises { try? queue.addFuture(promise) }
        settle(promises)
        queue.waitUntilAllOperationsAreFinished()
      },
      Counted(testDescription: "pending futures in a queue, cancelled with it") { promises in
        let queue = OperationQueue()
        for promise in promises { try? queue.addFuture(promise) }
        queue.cancelAllOperations()
        precondition(promises.allSatisfy { $0.isCancelled })
      },
    ]

    private static func settle(_ promises: [Promise<Int>]) {
      for (index, promise) in promises.enumerated() { promise.succeed(with: index) }
    }
  }

  @Test(arguments: Counted.all)
  func `takes time in proportion to the count`(_ counted: Counted) async throws {
    let ratio = try await SmallStackThread.running(within: .seconds(240)) {
      Growth.ratio(below: Self.bound) { count in
        let promises = (0..<count).map { _ in Promise<Int>() }
        return { counted.work(promises) }
      }
    }
    #expect(ratio < Self.bound)
  }
}
