import Foundation
@_exported import FuturesTestSupport

extension SeededGenerator {
  /// Makes a generator for a test, and prints its seed.
  ///
  /// `PROPERATIONS_SEED` in the environment sets the seed.
  package init(for test: String = #function) {
    let given = ProcessInfo.processInfo.environment["PROPERATIONS_SEED"].flatMap { UInt64($0) }
    self.init(seed: given ?? UInt64.random(in: 0...UInt64(UInt32.max)))
    print("\(test): PROPERATIONS_SEED=\(seed)")
  }
}
