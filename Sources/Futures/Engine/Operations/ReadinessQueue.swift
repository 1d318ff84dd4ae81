import Dispatch

/// The thread on which operations of plain queues become ready, and tasks come in.
///
/// No work and no hook runs on it, only what observes or overrides `isReady`, and perhaps the
/// `deinit` of an operation that finishes at that moment. It is a queue of its own: the shared
/// queues stand still when their threads block.
package enum ReadinessQueue {
  private static let isCurrentKey = DispatchSpecificKey<Bool>()

  package static let queue = {
    let queue = DispatchQueue(label: "readiness of operations")
    queue.setSpecific(key: isCurrentKey, value: true)
    return queue
  }()

  /// Whether the calling thread is this one.
  package static var isCurrent: Bool { DispatchQueue.getSpecific(key: isCurrentKey) == true }
}
