import Foundation
import Testing

/// Plays many short programs, each decided by a seed: which operations there
/// are, what happens to them, and in which order their closures run.
///
/// A program of one thread, with a manual context from which its generator
/// picks, does the same thing whenever it is played with the same seed. So a
/// failure is the seed, and the message says how to see it again:
///
///     PROPERATIONS_SEED=8412 swift test --filter SeededCombinatorTests
///
/// `PROPERATIONS_SEEDS` says how many are played.
package enum SeededSchedules {
  /// Plays a program with many seeds, until one goes wrong.
  ///
  /// - Parameters:
  ///   - suite: The name for `--filter`.
  ///   - count: How many seeds, unless the environment says otherwise.
  ///   - program: Plays; returns what went wrong, if anything did.
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
    // Other seeds every time: what they find can be replayed all the same.
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
