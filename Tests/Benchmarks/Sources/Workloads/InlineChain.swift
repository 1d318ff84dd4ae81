import Foundation
import NIOCore
import Properations

/// A promise, a chain of closures that each add one, the promise's success,
/// and the release of all of it.
///
/// The same: value type, closure, number of objects alive at once, no hop, one
/// thread. Not the same: NIO's futures belong to one event loop and are not
/// locked when they are used on it; ours may be used from any thread, can be
/// cancelled, and are operations. NIO's chain is cast in the loop's own thread.
package enum InlineChain {
  @inline(never)
  package static func ours(length: Int) {
    let promise = Promise<Int>()
    var future: Future<Int> = promise
    for _ in 0..<length { future = future.mapToValue(on: .inline) { $0 + 1 } }
    promise.succeed(with: 0)
    expect(future.result?.successValue == length)
  }

  /// On the thread of `loop` only.
  @inline(never)
  package static func nio(length: Int, on loop: any EventLoop) {
    let promise = loop.makePromise(of: Int.self)
    var future = promise.futureResult
    for _ in 0..<length { future = future.map { $0 + 1 } }
    promise.succeed(0)
    future.whenSuccess { expect($0 == length) }
  }

  /// The floor: what futures that are operations cannot do without.
  ///
  /// Bare operations, each made, told to be finished and released.
  ///
  /// Not the same: one at a time, in memory that is always in the caches.
  @inline(never)
  package static func floor(length: Int) {
    for _ in 0..<length {
      let operation = BareOperation()
      operation.finish()
      expect(operation.isFinished)
    }
  }

  /// The floor again, with as many alive at once as a chain has links.
  @inline(never)
  package static func floorAtOnce(length: Int) {
    var operations: [BareOperation] = []
    operations.reserveCapacity(length)
    for _ in 0..<length { operations.append(BareOperation()) }
    for operation in operations { operation.finish() }
    expect(operations.last?.isFinished != false)
  }

  /// Ours, made and kept pending: what memory is counted of.
  package static func pending(length: Int) -> (promise: Promise<Int>, last: Future<Int>) {
    let promise = Promise<Int>()
    var future: Future<Int> = promise
    for _ in 0..<length { future = future.mapToValue(on: .inline) { $0 + 1 } }
    return (promise, future)
  }
}

/// The least that an operation with a state of its own is.
package final class BareOperation: Operation, @unchecked Sendable {
  // Sendable: only ever used by one thread.
  private var isDone = false
  package override var isFinished: Bool { isDone }

  package func finish() {
    isDone = true
    didChangeValue(forKey: "isFinished")
  }
}
