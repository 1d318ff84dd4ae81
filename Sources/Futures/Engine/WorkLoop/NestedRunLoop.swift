import Foundation

/// Calls back from a run loop that a closure on the main thread serves.
///
/// A closure may call `RunLoop.run(until:)`, or show a panel that does. No notification
/// tells the library. So a work loop that makes work wait adds a timer to the main run
/// loop. A block for `perform` is not enough, because it does not wake a run loop that
/// sleeps.
enum NestedRunLoop {
  /// Calls a closure in the next turn of the main run loop.
  ///
  /// Only from the main thread.
  ///
  /// If no closure serves a nested run loop, the next turn comes after the outermost
  /// closure.
  static func expect(_ body: @escaping @Sendable () -> Void) {
    let timer = Foundation.Timer(timeInterval: 0, repeats: false) { _ in body() }
    RunLoop.main.add(timer, forMode: .common)
  }
}
