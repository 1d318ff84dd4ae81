import Foundation

/// Tells whether the calling code runs on the main queue.
///
/// A check of the thread alone is not enough: if `main` is async, another thread may
/// drain the main queue.
package enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether a dispatch queue is the main queue.
  ///
  /// On Linux each read of `DispatchQueue.main` makes a new object.
  package static func isMain(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: key) == true }

  package static var isCurrent: Bool {
    DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread
  }
}
