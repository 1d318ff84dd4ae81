import Foundation
import NIOCore
import Properations

/// One value after the other goes through a promise and a closure on a queue, while many
/// others wait to do the same.
///
/// The same: the closure runs on the queue (NIO: on the loop) and makes the next value.
/// Not the same: with Foundation's queue, a value needs no promise: the closure adds the
/// next block. The waiting values are operations whose dependency has not finished, which
/// is Foundation's way to wait.
package enum BesidePending {
  // MARK: Ours

  package static func ours(
    _ count: Int, on queue: OperationQueue
  ) -> (promises: [Promise<Int>], futures: [Future<Int>]) {
    let promises = (0..<count).map { _ in Promise<Int>() }
    return (promises, promises.map { $0.mapToValue(on: queue) { $0 + 1 } })
  }

  @inline(never)
  package static func runOurs(_ count: Int, on queue: OperationQueue) {
    let done = DispatchSemaphore(value: 0)
    @Sendable func step(_ value: Int) {
      if value == count { return _ = done.signal() }
      let promise = Promise<Int>()
      promise.onSuccess(on: queue) { step($0 + 1) }
      promise.succeed(with: value)
    }
    step(0)
    done.wait()
  }

  // MARK: NIO

  package static func nio(_ count: Int, on loop: any EventLoop) -> [EventLoopPromise<Int>] {
    (0..<count).map { _ in
      let promise = loop.makePromise(of: Int.self)
      promise.futureResult.whenSuccess { expect($0 == 0) }
      return promise
    }
  }

  @inline(never)
  package static func runNIO(_ count: Int, on loop: any EventLoop) {
    let done = DispatchSemaphore(value: 0)
    @Sendable func step(_ value: Int) {
      if value == count { return _ = done.signal() }
      let promise = loop.makePromise(of: Int.self)
      promise.futureResult.whenSuccess { value in
        // One turn of the loop for each value, as on a queue.
        loop.execute { step(value + 1) }
      }
      promise.succeed(value)
    }
    loop.execute { step(0) }
    done.wait()
  }

  // MARK: Foundation

  package static func operations(
    _ count: Int, in queue: OperationQueue
  ) -> (gates: [BareGate], operations: [Operation]) {
    let gates = (0..<count).map { _ in BareGate() }
    let operations = gates.map { gate in
      let operation = BlockOperation {}
      operation.addDependency(gate)
      queue.addOperation(operation)
      return operation
    }
    return (gates, operations)
  }

  @inline(never)
  package static func runOperations(_ count: Int, in queue: OperationQueue) {
    let done = DispatchSemaphore(value: 0)
    @Sendable func step(_ value: Int) {
      if value == count { return _ = done.signal() }
      queue.addOperation { step(value + 1) }
    }
    step(0)
    done.wait()
  }

  package static func release(
    _ pending: (gates: [BareGate], operations: [Operation]), in queue: OperationQueue
  ) {
    for gate in pending.gates { gate.open() }
    queue.waitUntilAllOperationsAreFinished()
  }
}
