import Foundation
@_exported import FuturesTestSupport

extension SeededGenerator {
  /// Makes a generator for a test, and prints its seed.
  ///
  /// `PROPERATIONS_SEED` in the environment sets the seed.
  ///
  /// The line goes to standard error, in one write, as the lines of Swift Testing do.
  /// `swift test` joins both streams in blocks, so a line of the other stream could stand in
  /// the middle of one of these.
  package init(for test: String = #function) {
    let given = ProcessInfo.processInfo.environment["PROPERATIONS_SEED"].flatMap { UInt64($0) }
    self.init(seed: given ?? UInt64.random(in: 0...UInt64(UInt32.max)))
    FileHandle.standardError.write(Data("\(test): PROPERATIONS_SEED=\(seed)\n".utf8))
  }
}
