import Foundation
import Futures
import TestSupport
import Testing

@Suite("Cycles through dependencies", .timeLimit(.minutes(5)), .oneAtATime)
struct DependencyCycleTests {
  private func isCycle(_ future: Future<Int>) -> Bool {
    future.result?.failureValue as? ProperationsError == .cycle(createdAt: future.createdAt)
  }

  /// Futures that come to wait for the given one.
  enum Descent: CaseIterable, Sendable {
    case itself
    case link
    case chain
    case combination
    case inner

    func derive(from future: Future<Int>) -> Future<Int> {
      switch self {
      case .itself: future
      case .link: future.mapToValue(on: .inline) { $0 }
      case .chain: future.mapToValue(on: .inline) { $0 }.recover(on: .inline) { _ in 0 }
      case .combination:
        Promises.collect([future, Promise<Int>()]).mapToValue(on: .inline) { $0[0] }
      case .inner: Promises.makeSucceeded(with: 1).mapToFuture(on: .inline) { _ in future }
      }
    }
  }

  @Test(arguments: Descent.allCases)
  func `a promise that is to settle like one that depends on it fails with cycle`(
    _ descent: Descent
  ) {
    let gate = Promise<Int>()
    let promise = Promise<Int>()
    let dependent = gate.mapToValue(on: .inline) { $0 }
    dependent.addDependency(promise)
    promise.fulfill(from: descent.derive(from: dependent))
    gate.succeed(with: 1)
    #expect(isCycle(promise))
    #expect(dependent.result?.successValue == 1)
  }

  @Test(arguments: Descent.allCases)
  func `a promise is to settle like one that depends on a descendant of it: fails with cycle`(
    _ descent: Descent
  ) {
    let gate = Promise<Int>()
    let promise = Promise<Int>()
    let dependent = gate.mapToValue(on: .inline) { $0 }
    let dependency = descent.derive(from: promise)
    dependent.addDependency(dependency)
    promise.fulfill(from: dependent)
    gate.succeed(with: 1)
    #expect(isCycle(promise))
    // (A combination waits for its other input still.)
    #expect(dependent.isFulfilled || descent == .combination)
  }

  @Test func `a link that is to depend on the promise which settles like it fails with cycle`() {
    let gate = Promise<Int>()
    let promise = Promise<Int>()
    let dependent = gate.mapToValue(on: .inline) { $0 }
    promise.fulfill(from: dependent)
    dependent.addDependency(promise)
    gate.succeed(with: 1)
    #expect(isCycle(dependent))
    #expect(promise.isFulfilled)
  }

  @Test func `three futures that depend on each other, the last closing the cycle: fails`() {
    let gate = Promise<Int>()
    let futures = (0..<3).map { _ in gate.mapToValue(on: .inline) { $0 } }
    futures[0].addDependency(futures[1])
    futures[1].addDependency(futures[2])
    futures[2].addDependency(futures[0])
    gate.succeed(with: 1)
    #expect(futures.allSatisfy { $0.isFulfilled })
    #expect(isCycle(futures[2]))
  }

  @Test func `a mapToFuture whose inner future depends on it fails with cycle`() {
    let (gate, other) = (Promise<Int>(), Promise<Int>())
    let inner = other.mapToValue(on: .inline) { $0 }
    let outer = gate.mapToFuture(on: .inline) { _ in inner }
    inner.addDependency(outer)
    gate.succeed(with: 1)
    other.succeed(with: 2)
    #expect(isCycle(outer))
    #expect(inner.result?.successValue == 2)
  }

  @Test func `an inner future that is to depend on the mapToFuture above fails with cycle`() {
    let (gate, other) = (Promise<Int>(), Promise<Int>())
    let inner = other.mapToValue(on: .inline) { $0 }
    let outer = gate.mapToFuture(on: .inline) { _ in inner }
    gate.succeed(with: 1)
    inner.addDependency(outer)
    other.succeed(with: 2)
    #expect(isCycle(inner))
    #expect(outer.isFulfilled)
  }

  @Test func `a recoverToFuture whose inner future depends on it fails with cycle`() {
    let (gate, other) = (Promise<Int>(), Promise<Int>())
    let inner = other.mapToValue(on: .inline) { $0 }
    let outer = gate.recoverToFuture(on: .inline) { _ in inner }
    inner.addDependency(outer)
    gate.fail(with: TestError.first)
    other.succeed(with: 2)
    #expect(isCycle(outer))
    #expect(inner.result?.successValue == 2)
  }

  @Test func `an element's future depends on mapElementsToFuture: fails with cycle`() {
    let other = Promise<Int>()
    let gate = Promise<[Int]>()
    let inner = other.mapToValue(on: .inline) { $0 }
    let outer = gate.mapElementsToFuture(on: .inline) { _ in inner }
    inner.addDependency(outer)
    gate.succeed(with: [1])
    other.succeed(with: 2)
    #expect(
      outer.result?.failureValue as? ProperationsError == .cycle(createdAt: outer.createdAt))
    #expect(inner.result?.successValue == 2)
  }

  @Test func `the closure of a cancelled future waits for one that depends on it: a cycle`() async {
    let (hasBegun, goOn) = (Event(), Event())
    let (source, outcome) = (Promise<Int>(), Promise<Int>())
    let dependent = source.mapToValue(on: .global()) { $0 }
    let future = Promises.run(on: OperationQueue()) { () -> Int in
      hasBegun.signal()
      goOn.wait()
      outcome.fulfill(with: FutureResult { try dependent.wait(timeout: .seconds(60)) })
      return 1
    }
    dependent.addDependency(future)
    source.succeed(with: 1)
    #expect(await hasBegun.opened())
    future.cancel()
    goOn.signal()
    let error = await outcome.completion.failureValue as? ProperationsError
    #expect(error == .cycle(createdAt: dependent.createdAt))
    #expect(await dependent.completion.successValue == 1)
  }
}
