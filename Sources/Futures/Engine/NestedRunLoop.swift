import Foundation

/// Calls back from a run loop that a closure on the main thread serves.
///
/// A closure may call `RunLoop.run(until:)`, or show a panel that does. Nothing tells that
/// to the library, so a work loop that makes something wait leaves a timer in the main run
/// loop. (Not a block for `perform`: that wakes no run loop that has fallen asleep.)
enum NestedRunLoop {
  /// Calls a closure in the next turn of the main run loop; only from the main thread.
  ///
  /// If no closure serves a nested run loop, that is the turn after the outermost closure.
  static func expect(_ body: @escaping @Sendable () -> Void) {
    let timer = Foundation.Timer(timeInterval: 0, repeats: false) { _ in body() }
    RunLoop.main.add(timer, forMode: .common)
  }
}
