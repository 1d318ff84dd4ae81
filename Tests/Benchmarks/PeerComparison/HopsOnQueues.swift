import Dispatch
import Foundation
import NIOCore
import OpenCombine
import OpenCombineDispatch
import Properations
import Workloads

/// A thousand closures that each run on a queue; see `Hops`.
///
/// On one queue, our closures share one slot; between two queues, each closure is a hop.
/// NIO hops between two loops whose threads sleep in between: each crossing is a system
/// call. OpenCombine's `receive(on:)` hands each value to the queue.
func hops() {
  let count = 1000
  let name = { (where_: String) in "\(text(count)) links \(where_)" }

  let serial = Hops.serialOperationQueues()
  measure(name("between two operation queues"), .ours) {
    Hops.ours(length: count, alternatingBetween: serial)
  }
  measure(name("between two operation queues"), .operation) {
    Hops.bare(length: count, alternatingBetween: serial)
  }
  measure(name("on a serial operation queue"), .ours) {
    Hops.ours(length: count, alternatingBetween: [serial[0]])
  }
  measure(name("on a serial operation queue"), .operation) {
    Hops.bare(length: count, alternatingBetween: [serial[0]])
  }

  let concurrent = OperationQueue()
  measure(name("on a concurrent operation queue"), .ours) {
    Hops.ours(length: count, alternatingBetween: [concurrent])
  }
  measure(name("on a concurrent operation queue"), .operation) {
    Hops.bare(length: count, alternatingBetween: [concurrent])
  }

  let dispatch = Hops.serialDispatchQueues()
  measure(name("between two dispatch queues"), .ours) {
    Hops.ours(length: count, alternatingBetween: dispatch)
  }
  measure(name("between two dispatch queues"), .dispatch) {
    Hops.bare(length: count, alternatingBetween: dispatch)
  }
  measure(name("on a serial dispatch queue"), .ours) {
    Hops.ours(length: count, alternatingBetween: [dispatch[0]])
  }
  measure(name("on a serial dispatch queue"), .dispatch) {
    Hops.bare(length: count, alternatingBetween: [dispatch[0]])
  }
  measure(name("on a concurrent dispatch queue"), .ours) {
    Hops.ours(length: count, alternatingBetween: [DispatchQueue.global()])
  }
  measure(name("on a concurrent dispatch queue"), .dispatch) {
    Hops.bare(length: count, alternatingBetween: [DispatchQueue.global()])
  }
  measure(name("between two event loops"), .nio) {
    let promise = Loops.first.makePromise(of: Int.self)
    var future = promise.futureResult
    for index in 0..<count {
      future = future.hop(to: index.isMultiple(of: 2) ? Loops.second : Loops.first)
        .map { $0 + 1 }
    }
    promise.succeed(0)
    let result = try future.wait()
    expect(result == count)
  }
  measure("100 links between two dispatch queues", .openCombine) { openCombineHops(100, dispatch) }
  measure("100 links between two dispatch queues", .ours) {
    Hops.ours(length: 100, alternatingBetween: dispatch)
  }
}

private func openCombineHops(_ count: Int, _ queues: [DispatchQueue]) {
  let done = DispatchSemaphore(value: 0)
  var publisher = OpenCombine.Future<Int, Never> { $0(.success(0)) }.eraseToAnyPublisher()
  for index in 0..<count {
    publisher = publisher.receive(on: queues[index % 2].ocombine).map { $0 + 1 }
      .eraseToAnyPublisher()
  }
  let subscription = publisher.sink { value in
    expect(value == count)
    done.signal()
  }
  done.wait()
  subscription.cancel()
}
