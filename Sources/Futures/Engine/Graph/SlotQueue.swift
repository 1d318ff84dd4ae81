import Foundation

/// An operation queue in which futures that block no thread may hold slots.
package protocol SlotQueue: OperationQueue {
  /// The futures that hold a slot, and wait for others without a thread.
  var slotHolders: [AnyFuture] { get }
  /// Everything that was put in the queue and may not have finished.
  var unfinishedOperations: [Operation] { get }
  /// Cancels everything in the queue, apart from some operations.
  func cancelEverything(except isSpared: (Operation) -> Bool)
  /// The group whose members the queue runs, and the queue of the group itself.
  var group: (task: AnyFuture, queue: OperationQueue?)? { get }
  /// Adds an operation as a barrier, even if the queue is shut down.
  func addBarrier(_ barrier: Operation)
  /// Whether the queue has barriers that have not finished.
  var hasBarriers: Bool { get }
  /// Whether a barrier of the queue keeps a task from running.
  func holdsBack(_ task: AnyFuture) -> Bool
  /// What cannot run before everything in front of the first barrier has finished, apart
  /// from tasks; see `holdsBack(_:)`.
  var futuresHeldByBarriers: [AnyFuture] { get }
}

// What a search for waits that cannot end asks a queue.

extension OperationQueue {
  /// The groups that contain the members of this queue, from the inside, and the queues of
  /// the groups.
  var groupsAround: [(task: AnyFuture, queue: OperationQueue?)] {
    var groups: [(task: AnyFuture, queue: OperationQueue?)] = []
    var queue: OperationQueue? = self
    while let group = (queue as? any SlotQueue)?.group {
      groups.append(group)
      queue = group.queue
    }
    return groups
  }

  /// The identities of the futures that wait for a barrier of the queue, or are one.
  ///
  /// A barrier that executes counts, too. The caller runs an operation of the queue, so it
  /// is in the barrier.
  ///
  /// - Parameter running: The futures whose closures run in the caller.
  /// - Complexity: O(the number of operations in the queue) if there are barriers.
  func futuresBehindBarriers(of running: [AnyFuture]) -> Set<ObjectIdentifier> {
    if let queue = self as? any SlotQueue {
      return Set(queue.futuresHeldByBarriers.map { ObjectIdentifier($0) })
    }
    return futuresBehindOwnBarriers(of: running)
  }

  var hasLimitedSlots: Bool { maxConcurrentOperationCount > 0 }
}
