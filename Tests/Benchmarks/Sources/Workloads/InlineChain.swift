import Foundation
import NIOCore
import Properations

/// A promise, a chain of closures that each add one, the promise's success, and the
/// release of all objects.
///
/// The same: value type, closure, number of objects alive at once, no hop, one thread.
/// Not the same: NIO's futures belong to one event loop and need no lock there; ours may
/// be used from any thread, can be cancelled, and are operations. NIO's chain runs on the
/// loop's own thread.
package enum InlineChain {
  @inline(never)
  package static func ours(length: Int) {
    let promise = Promise<Int>()
    var future: Future<Int> = promise
    for _ in 0..<length { future = future.mapToValue(on: .inline) { $0 + 1 } }
    promise.succeed(with: 0)
    expect(future.result?.successValue == length)
  }

  /// Call it on the thread of `loop`.
  @inline(never)
  package static func nio(length: Int, on loop: any EventLoop) {
    let promise = loop.makePromise(of: Int.self)
    var future = promise.futureResult
    for _ in 0..<length { future = future.map { $0 + 1 } }
    promise.succeed(0)
    future.whenSuccess { expect($0 == length) }
  }

  /// The floor: the minimal cost of futures that are operations.
  ///
  /// Makes bare operations, finishes and releases them. Not the same: one at a time, in
  /// memory that is always in the caches.
  @inline(never)
  package static func floor(length: Int) {
    for _ in 0..<length {
      let operation = BareOperation()
      operation.finish()
      expect(operation.isFinished)
    }
  }

  /// The floor, with as many operations alive at once as the chain has links.
  @inline(never)
  package static func floorAtOnce(length: Int) {
    var operations: [BareOperation] = []
    operations.reserveCapacity(length)
    for _ in 0..<length { operations.append(BareOperation()) }
    for operation in operations { operation.finish() }
    expect(operations.last?.isFinished != false)
  }

  /// Makes our chain and keeps it pending, to count its memory.
  package static func pending(length: Int) -> (promise: Promise<Int>, last: Future<Int>) {
    let promise = Promise<Int>()
    var future: Future<Int> = promise
    for _ in 0..<length { future = future.mapToValue(on: .inline) { $0 + 1 } }
    return (promise, future)
  }
}

/// A minimal operation with a state of its own.
package final class BareOperation: Operation, @unchecked Sendable {
  // Sendable: only one thread ever uses it.
  private var isDone = false
  package override var isFinished: Bool { isDone }

  package func finish() {
    isDone = true
    didChangeValue(forKey: "isFinished")
  }
}
