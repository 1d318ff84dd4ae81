import Foundation
import TestSupport

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
