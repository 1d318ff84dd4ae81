import Foundation

/// Looks until something is so, for what nobody tells: an object that goes
/// away, a queue that empties, a process that is gone.
func eventually(
  seconds: Double = 15, isolation: isolated (any Actor)? = #isolation, _ isSo: () -> Bool
) async -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while !isSo() {
    if ContinuousClock.now > deadline || Task.isCancelled { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}

/// The same for a thread that may block.
func eventuallyBlocking(seconds: Double = 15, _ isSo: () -> Bool) -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while !isSo() {
    if ContinuousClock.now > deadline { return false }
    usleep(100)
  }
  return true
}

extension OperationQueue {
  /// A queue of its own, that runs one operation at a time unless told.
  static func make(_ name: String = "test", limit: Int = 1, isSuspended: Bool = false)
    -> OperationQueue
  {
    let queue = OperationQueue()
    queue.name = name
    queue.maxConcurrentOperationCount = limit
    queue.isSuspended = isSuspended
    return queue
  }

  func isEmptyEventually() async -> Bool { await eventually { self.operationCount == 0 } }
}
