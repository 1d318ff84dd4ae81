import Foundation
import Testing

/// Plays many short programs.
///
/// A seed decides each program: its operations, the calls to them, and the order in which
/// their closures run.
///
/// A program on one thread, with a manual context from which its generator picks, does
/// the same each time it is played with the same seed. So a failure is fully described by
/// its seed, and the message shows how to replay it:
///
///     PROPERATIONS_SEED=8412 swift test --filter SeededCombinatorTests
///
/// `PROPERATIONS_SEEDS` sets the number of programs.
package enum SeededSchedules {
  /// Plays a program with many seeds until one of them fails.
  ///
  /// - Parameters:
  ///   - suite: The name for `--filter`.
  ///   - count: The number of seeds, unless the environment sets it.
  ///   - program: Plays one program; returns the fault, if there is one.
  package static func play(
    _ suite: String, count: Int = 1_000, _ location: SourceLocation = #_sourceLocation,
    program: (inout SeededGenerator) async throws -> String?
  ) async rethrows {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["PROPERATIONS_SEED"].flatMap({ UInt64($0) }) {
      var generator = SeededGenerator(seed: seed)
      report(try await program(&generator), seed, suite, location)
      return
    }
    let count = environment["PROPERATIONS_SEEDS"].flatMap { Int($0) } ?? count
    // Each run uses other seeds. A fault can still be replayed from its seed.
    var seeds = SeededGenerator(seed: .random(in: 0...UInt64(UInt32.max)))
    for _ in 0..<count {
      let seed = seeds.next() >> 32
      var generator = SeededGenerator(seed: seed)
      if let fault = try await program(&generator) {
        return report(fault, seed, suite, location)
      }
    }
  }

  private static func report(
    _ fault: String?, _ seed: UInt64, _ suite: String, _ location: SourceLocation
  ) {
    guard let fault else { return }
    Issue.record(
      "\(fault)\nReplay: PROPERATIONS_SEED=\(seed) swift test --filter \(suite)",
      sourceLocation: location)
  }
}
