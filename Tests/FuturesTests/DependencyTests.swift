import Foundation
import Futures
import TestSupport
import Testing

@Suite("Dependencies of futures", .timeLimit(.minutes(5)), .oneAtATime)
struct DependencyTests {
  @Test func `a dependency holds a mapping's closure back until it has finished`() async {
    let queue = OperationQueue()
    let gate = BlockOperation {}
    let promise = Promise<Int>()
    let ran = Event()
    let future = promise.mapToValue(on: queue) { _ in ran.signal() }
    future.addDependency(gate)
    promise.succeed(with: 1)
    #expect(!future.isReady)
    #expect(!future.isFulfilled)
    #expect(queue.operationCount == 0)
    queue.addOperation(gate)
    #expect(await ran.opened())
    _ = await future.completion
    // The thread that settled it is letting go of them just now.
    #expect(await eventually { future.dependencies.isEmpty })
  }

  @Test func `a dependency that is a promise holds a mapping's closure back`() {
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    future.addDependency(gate)
    promise.succeed(with: 1)
    #expect(!future.isFulfilled)
    gate.succeed()
    #expect(future.result?.successValue == 1)
  }

  @Test func `several dependencies hold a closure back until the last has finished`() {
    let gates = (0..<5).map { _ in Promise<Void>() }
    let promise = Promise<Int>()
    let ran = Counter()
    let future = promise.mapToValue(on: .inline) { _ in ran.add() }
    for gate in gates { future.addDependency(gate) }
    promise.succeed(with: 1)
    for gate in gates {
      #expect(ran.value == 0)
      gate.succeed()
    }
    #expect(ran.value == 1)
  }

  @Test func `a dependency that finishes before the value comes holds nothing back`() {
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    future.addDependency(gate)
    gate.succeed()
    #expect(!future.isFulfilled)
    promise.succeed(with: 1)
    #expect(future.result?.successValue == 1)
  }

  @Test func `a dependency that finished long ago holds nothing back`() {
    let gate = Promises.makeSucceeded(with: 1)
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    future.addDependency(gate)
    promise.succeed(with: 1)
    #expect(future.result?.successValue == 1)
  }

  @Test func `a removed dependency holds nothing back`() {
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    future.addDependency(gate)
    future.removeDependency(gate)
    promise.succeed(with: 1)
    #expect(future.result?.successValue == 1)
  }

  @Test func `a dependency removed while it holds a closure back lets it go`() async {
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    future.addDependency(gate)
    promise.succeed(with: 1)
    #expect(!future.isFulfilled)
    future.removeDependency(gate)
    #expect(await eventually { future.isFulfilled })
  }

  @Test func `a dependency holds an observer's handler back`() {
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    let ran = Counter()
    let future = promise.onSuccess(on: .inline) { _ in ran.add() }
    future.addDependency(gate)
    promise.succeed(with: 1)
    #expect(ran.value == 0)
    gate.succeed()
    #expect(ran.value == 1)
  }

  @Test func `a dependency added while the closure waits in its queue holds it back`() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let gate = Promise<Void>()
    let ran = Event()
    let future = Promises.run(on: queue) { ran.signal() }
    future.addDependency(gate)
    queue.isSuspended = false
    #expect(!(await ran.opened(within: .milliseconds(200))))
    gate.succeed()
    #expect(await ran.opened())
  }

  @Test func `a failure passes a future whose dependency is pending`() {
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    future.addDependency(gate)
    promise.fail(with: TestError.first)
    #expect(future.result?.failureValue as? TestError == .first)
    #expect(future.isFinished)
    gate.succeed()
  }

  @Test func `cancelling a future held back by a dependency settles it`() {
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    let ran = Counter()
    let future = promise.mapToValue(on: .inline) { _ in ran.add() }
    future.addDependency(gate)
    promise.succeed(with: 1)
    future.cancel()
    #expect(future.isCancelled)
    #expect(future.isFinished)
    gate.succeed()
    #expect(ran.value == 0)
  }

  @Test func `a future that depends on itself ignores it`() {
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    future.addDependency(future)
    promise.succeed(with: 1)
    #expect(future.result?.successValue == 1)
  }

  @Test(.guarantee(10)) func `a settled future depends on nothing`() {
    let gate = Promise<Void>()
    let future = Promises.makeSucceeded(with: 1)
    future.addDependency(gate)
    #expect(future.isFinished)
    #expect(future.isReady)
  }

  @Test func `a promise settles whatever its dependencies do`() {
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    promise.addDependency(gate)
    promise.succeed(with: 1)
    #expect(promise.isFulfilled)
    #expect(promise.isFinished)
  }

  @Test func `a promise in a queue finishes there after its dependencies`() async {
    let queue = OperationQueue()
    let gate = Promise<Void>()
    let promise = Promise<Int>()
    promise.addDependency(gate)
    queue.addOperation(promise)
    promise.succeed(with: 1)
    #expect(promise.isFulfilled)
    #expect(!promise.isFinished)
    gate.succeed()
    #expect(await eventually { promise.isFinished && queue.operationCount == 0 })
  }

  @Test func `a cancelled promise in a queue does not wait for its dependencies`() async {
    let queue = OperationQueue()
    let gate = BlockOperation {}
    let promise = Promise<Int>()
    promise.addDependency(gate)
    queue.addOperation(promise)
    promise.cancel()
    #expect(promise.isReady)
    #expect(await eventually { promise.isFinished && queue.operationCount == 0 })
    #expect(!gate.isFinished)
  }

  @Test func `a cancelled dependent released before its dependency finishes: 1,000 rounds`() {
    for _ in 0..<1_000 {
      let gate = Promise<Int>()
      do {
        let dependent = Promise<Int>()
        dependent.addDependency(gate)
        dependent.cancel()
      }
      do {
        let link = Promise<Int>().mapToValue(on: .inline) { $0 }
        link.addDependency(gate)
        link.cancel()
      }
      do {
        let unsettled = Promise<Int>()
        unsettled.addDependency(gate)
      }
      gate.succeed(with: 1)
    }
  }

  @Test func `a cancelled dependent of a plain operation released before that finishes`() async {
    let queue = OperationQueue()
    for _ in 0..<1_000 {
      let gate = BlockOperation {}
      do {
        let dependent = Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }
        dependent.addDependency(gate)
        dependent.cancel()
      }
      do {
        let dependent = Promises.make(promising: Int.self)
        dependent.addDependency(gate)
        queue.addOperation(dependent)
        dependent.cancel()
      }
      queue.addOperation(gate)
    }
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test func `an observer settles, and its handler will not run: it depends on nothing`() {
    let promise = Promise<Int>()
    let observer = promise.onSuccess(on: .inline) { _ in }
    observer.addDependency(BlockOperation {})
    promise.fail(with: TestError.first)
    #expect(observer.isFinished)
    #expect(observer.dependencies.isEmpty)
  }

  @Test func `two futures that depend on each other settle, rather than wait for ever`() {
    let promise = Promise<Int>()
    let (a, b) = (promise.mapToValue(on: .inline) { $0 }, promise.mapToValue(on: .inline) { $0 })
    a.addDependency(b)
    b.addDependency(a)
    promise.succeed(with: 1)
    #expect(a.isFulfilled)
    #expect(b.isFulfilled)
  }

  @Test func `a future that depends on its own descendant settles, rather than wait for ever`() {
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    let descendant = future.mapToValue(on: .inline) { $0 }
    future.addDependency(descendant)
    promise.succeed(with: 1)
    #expect(future.isFulfilled)
    #expect(descendant.isFulfilled)
  }
}
