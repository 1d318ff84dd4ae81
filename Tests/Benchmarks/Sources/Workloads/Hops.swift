import Foundation
import Properations

/// Closures that each add one, on queues.
///
/// The same: number of closures, queues, value. Not the same: the bare side
/// hands one number from closure to closure and makes the next hop when it has
/// arrived; ours makes a chain of futures first, each of which can be
/// awaited, cancelled and shared. The time of making the chain counts.
package enum Hops {
  /// Two serial operation queues.
  package static func serialOperationQueues() -> [OperationQueue] {
    (0..<2).map { _ in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      return queue
    }
  }

  /// Two serial dispatch queues.
  package static func serialDispatchQueues() -> [DispatchQueue] {
    (0..<2).map { DispatchQueue(label: "hops.\($0)") }
  }

  /// A chain whose links take turns on the contexts.
  @inline(never)
  package static func ours(length: Int, alternatingBetween queues: [OperationQueue]) {
    run(length, on: queues)
  }

  /// A chain whose links take turns on the contexts.
  @inline(never)
  package static func ours(length: Int, alternatingBetween queues: [DispatchQueue]) {
    run(length, on: queues)
  }

  // (Inlined: a caller knows what kind of queue it has, and so does the
  // compiler.)
  @inline(__always)
  private static func run(_ length: Int, on contexts: [some ExecutionContext]) {
    let done = DispatchSemaphore(value: 0)
    let promise = Promise<Int>()
    var future: Future<Int> = promise
    for index in 0..<length {
      future = future.mapToValue(on: contexts[index % contexts.count]) { $0 + 1 }
    }
    future.onCompletion(on: .inline) { result in
      expect(result.successValue == length)
      done.signal()
    }
    promise.succeed(with: 0)
    done.wait()
  }

  /// Blocks that each add the next one.
  @inline(never)
  package static func bare(length: Int, alternatingBetween queues: [OperationQueue]) {
    let done = DispatchSemaphore(value: 0)
    @Sendable func hop(_ value: Int) {
      if value == length { return _ = done.signal() }
      queues[value % queues.count].addOperation { hop(value + 1) }
    }
    hop(0)
    done.wait()
  }

  /// Blocks that each add the next one.
  @inline(never)
  package static func bare(length: Int, alternatingBetween queues: [DispatchQueue]) {
    let done = DispatchSemaphore(value: 0)
    @Sendable func hop(_ value: Int) {
      if value == length { return _ = done.signal() }
      queues[value % queues.count].async { hop(value + 1) }
    }
    hop(0)
    done.wait()
  }
}
