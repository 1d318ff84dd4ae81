import Foundation
import Properations

/// Closures on queues that each add one.
///
/// The same: number of closures, queues, value. Not the same: the bare side hands one
/// number from closure to closure, and makes the next hop after each arrival; ours first
/// makes a chain of futures, each of which can be awaited, cancelled and shared. The time
/// to make the chain counts.
package enum Hops {
  /// Makes two serial operation queues.
  package static func serialOperationQueues() -> [OperationQueue] {
    (0..<2).map { _ in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      return queue
    }
  }

  /// Makes two serial dispatch queues.
  package static func serialDispatchQueues() -> [DispatchQueue] {
    (0..<2).map { DispatchQueue(label: "hops.\($0)") }
  }

  /// Runs a chain whose links alternate between the contexts.
  @inline(never)
  package static func ours(length: Int, alternatingBetween queues: [OperationQueue]) {
    run(length, on: queues)
  }

  /// Runs a chain whose links alternate between the contexts.
  @inline(never)
  package static func ours(length: Int, alternatingBetween queues: [DispatchQueue]) {
    run(length, on: queues)
  }

  // Inlined, so that the compiler knows the kind of queue, as it does in the caller of a
  // real program.
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

  /// Runs blocks that each add the next one.
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

  /// Runs blocks that each add the next one.
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
