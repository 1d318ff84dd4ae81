import Foundation
import NIOCore
import NIOPosix
import Properations
import Workloads

/// The points of the pictures.
enum Series {
  static func print(on group: MultiThreadedEventLoopGroup) throws {
    Swift.print("picture,series,x,nanoseconds")
    try chains(on: group)
    try pending(on: group)
  }

  /// Measures a point a few times and prints the median.
  private static func point(
    _ picture: String, _ series: String, _ x: Int, rounds: Int, _ measure: () throws -> Double
  ) rethrows {
    _ = try measure()
    var values: [Double] = []
    for _ in 0..<rounds { values.append(try measure()) }
    Swift.print("\(picture),\(series),\(x),\(String(format: "%.1f", median(values)))")
    fflush(nil)
  }

  // MARK: Cost of a link, against the length of the chain

  private static func chains(on group: MultiThreadedEventLoopGroup) throws {
    let loop = group.next()
    let queue = Hops.serialOperationQueues()[0]
    for length in [1, 10, 100, 1000, 10_000, 100_000, 1_000_000] {
      // Each point has about the same number of links.
      let repetitions = max(1, 10_000 / length)
      let rounds = length >= 100_000 ? 3 : 9
      let links = Double(length * repetitions)
      point("chain", "Properations (inline)", length, rounds: rounds) {
        Clock.wall.time { for _ in 0..<repetitions { InlineChain.ours(length: length) } } / links
      }
      point("chain", "Properations (on an operation queue)", length, rounds: rounds) {
        Clock.wall.time {
          for _ in 0..<repetitions { Hops.ours(length: length, alternatingBetween: [queue]) }
        } / links
      }
      try point("chain", "NIO (on its own loop)", length, rounds: rounds) {
        try loop.submit {
          Clock.wall.time {
            for _ in 0..<repetitions { InlineChain.nio(length: length, on: loop) }
          } / links
        }.wait()
      }
      // Quadratic time: more would take minutes.
      guard length <= 1000 else { continue }
      point("chain", "OperationQueue with dependencies", length, rounds: 3) {
        let repetitions = max(1, 1000 / length)
        return Clock.wall.time {
          for _ in 0..<repetitions { DependencyChain.run(length: length) }
        } / Double(length * repetitions)
      }
    }
    point("chain", "OperationQueue with dependencies", 3000, rounds: 1) {
      Clock.wall.time { DependencyChain.run(length: 3000) } / 3000
    }
  }

  // MARK: Cost of a value through a queue, against the number that wait

  private static func pending(on group: MultiThreadedEventLoopGroup) throws {
    let loop = group.next()
    for waiting in [1, 10, 100, 1000, 10_000, 100_000, 1_000_000] {
      let count = 1000
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      let futures = BesidePending.ours(waiting, on: queue)
      point("pending", "Properations", waiting, rounds: 9) {
        Clock.wall.time { BesidePending.runOurs(count, on: queue) } / Double(count)
      }
      withExtendedLifetime(futures) {}

      let promises = try loop.submit { BesidePending.nio(waiting, on: loop) }.wait()
      point("pending", "NIO (on its own loop)", waiting, rounds: 9) {
        Clock.wall.time { BesidePending.runNIO(count, on: loop) } / Double(count)
      }
      loop.execute { for promise in promises { promise.succeed(0) } }
      try loop.submit {}.wait()

      // Adding the operations takes quadratic time: more would take minutes.
      guard waiting <= 1000 else { continue }
      let crowded = OperationQueue()
      crowded.maxConcurrentOperationCount = 1
      let operations = BesidePending.operations(waiting, in: crowded)
      point("pending", "OperationQueue", waiting, rounds: 3) {
        Clock.wall.time { BesidePending.runOperations(100, in: crowded) } / 100
      }
      BesidePending.release(operations, in: crowded)
    }
  }
}
