import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// How long something may take that the library has to do.
private let patience = Event.patience

/// What is behind a promise does not keep it, so a dropped promise is broken.
@Suite("A promise dropped behind an operation", .timeLimit(.minutes(5)), .oneAtATime)
struct BrokenDependencyTests {
  /// Drops a promise behind something made of it, and says where it was made.
  private func drop<Output>(
    behind make: (Promise<Int>) -> Output
  ) -> (output: Output, site: CreationSite) {
    let promise = Promise<Int>()
    return (make(promise), promise.createdAt)
  }

  private func isBroken<Value>(_ future: Future<Value>, at site: CreationSite) -> Bool {
    future.result?.failureValue as? ProperationsError == .brokenPromise(createdAt: site)
  }

  @Test("Behind promise.future: that fails with brokenPromise, with the promise's place")
  func futureOfPromise() {
    let (future, site) = drop { ($0 as Operation).future }
    #expect(isBroken(future, at: site))
  }

  @Test("Behind a future made of promise.future: that fails with brokenPromise")
  func belowFutureOfPromise() {
    let (future, site) = drop { ($0 as Operation).future.mapToValue(on: .inline) { 1 } }
    #expect(isBroken(future, at: site))
  }

  @Test("Behind make(awaitingCompletionOf:): that fails with brokenPromise; no closure runs")
  func awaitingCompletion() {
    let ran = Counter()
    let (future, site) = drop { promise in
      Promises.make(awaitingCompletionOf: promise, on: .inline) { _ in ran.add() }
    }
    #expect(isBroken(future, at: site))
    #expect(ran.value == 0)
  }

  @Test("Behind make(awaitingCompletionOf:) with a closure on main: that fails the same way")
  func awaitingCompletionOnMain() {
    let (future, site) = drop { promise in
      Promises.make(awaitingCompletionOf: promise) { _ in 1 }
    }
    #expect(isBroken(future, at: site))
  }

  // (A dependency that fails does not fail its dependents: they go on.)

  @Test("Behind derived.addDependency(promise), the source settled first: goes on")
  func dependencyOfFuture() {
    let gate = Promise<Int>()
    let derived = gate.mapToValue(on: .inline) { $0 }
    _ = drop { derived.addDependency($0 as Operation) }
    gate.succeed(with: 1)
    #expect(derived.isFulfilled)
  }

  @Test("Behind derived.addDependency(promise), dropped when all else is done: goes on")
  func lateDependencyOfFuture() {
    let gate = Promise<Int>()
    let derived = gate.mapToValue(on: .inline) { $0 }
    _ = drop { promise in
      derived.addDependency(promise as Operation)
      gate.succeed(with: 1)
      #expect(!derived.isFulfilled)
    }
    #expect(derived.isFulfilled)
  }

  @Test("Behind operation.addDependency(promise), in a queue: the operation runs")
  func dependencyOfOperation() async {
    let queue = OperationQueue.make()
    let ran = Event()
    let operation = BlockOperation { ran.signal() }
    _ = drop { promise in
      operation.addDependency(promise)
      queue.addOperation(operation)
    }
    let hasRun = await ran.opened(within: patience)
    #expect(hasRun)
    queue.cancelAllOperations()
  }

  @Test("Behind operation.addDependency(promise), put in a queue afterwards: the operation runs")
  func earlierDependencyOfOperation() async {
    let queue = OperationQueue.make()
    let ran = Event()
    let operation = BlockOperation { ran.signal() }
    _ = drop { promise in operation.addDependency(promise) }
    queue.addOperation(operation)
    let hasRun = await ran.opened(within: patience)
    #expect(hasRun)
    queue.cancelAllOperations()
  }

  @Test("Behind a link that nobody holds but a dependent operation: the operation runs")
  func dependencyOnLink() async {
    let queue = OperationQueue.make()
    let ran = Event()
    let operation = BlockOperation { ran.signal() }
    _ = drop { promise in
      operation.addDependency(promise.mapToValue(on: .inline) { $0 })
      queue.addOperation(operation)
    }
    let hasRun = await ran.opened(within: patience)
    #expect(hasRun)
    queue.cancelAllOperations()
  }
}
