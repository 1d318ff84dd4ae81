import Foundation

/// The operation queues that are shut down.
///
/// As long as no queue was ever shut down, a look-up is one atomic load.
///
///   open ── shutDown(within:) ──▶ closing ── the time is up ──▶ over
package enum ShutDownQueues {
  /// How far a queue is shut down.
  package enum Phase: Sendable {
    /// The queue refuses work from outside. What is in the queue continues, and may add more.
    case closing
    /// The time is up: what was left has been cancelled.
    case over
  }

  private final class WeakQueue: @unchecked Sendable {
    // Sendable: never written after init.
    private(set) weak var queue: OperationQueue?
    init(_ queue: OperationQueue) { self.queue = queue }
  }

  private struct Table {
    var entries: [ObjectIdentifier: (queue: WeakQueue, phase: Phase)] = [:]
    /// The number of entries at which those of released queues are removed.
    var limit = 16

    func phase(of queue: OperationQueue) -> Phase? {
      // Another queue may have had the same address. The caller keeps this one, so the lock
      // is not held while a queue is released.
      guard let entry = entries[ObjectIdentifier(queue)], entry.queue.queue === queue
      else { return nil }
      return entry.phase
    }
  }

  private static let isUsed = Atomic<Bool>(false)
  private static let table = Lock(Table())

  /// How far a queue is shut down; `nil` if it is open.
  @inline(__always)
  package static func phase(of queue: OperationQueue) -> Phase? {
    isUsed.load(ordering: .acquiring) ? find(queue) : nil
  }

  private static func find(_ queue: OperationQueue) -> Phase? {
    table.withLock { $0.phase(of: queue) }
  }

  /// Records how far a queue is shut down; a queue that is over stays so.
  static func advance(_ queue: OperationQueue, to phase: Phase) {
    let entry = WeakQueue(queue)
    let all = table.withLock { table in
      // In one step: another call of `shutDown(within:)` may come in between.
      let isOver = table.phase(of: queue) == .over
      table.entries[ObjectIdentifier(queue)] = (entry, isOver ? .over : phase)
      return table.entries.count < table.limit ? [:] : table.entries
    }
    isUsed.store(true, ordering: .releasing)
    if !all.isEmpty { remove(all.filter { $0.value.queue.queue == nil }) }
  }

  private static func remove(_ dead: [ObjectIdentifier: (queue: WeakQueue, phase: Phase)]) {
    table.withLock { table in
      for (id, entry) in dead where table.entries[id]?.queue === entry.queue {
        table.entries[id] = nil
      }
      table.limit = max(16, table.entries.count * 2)
    }
  }
}

extension OperationQueue {
  /// The name of the queue in messages.
  package final var nameInErrors: String {
    self === OperationQueue.main ? "the main queue" : "the operation queue \"\(name ?? "")\""
  }

  /// The error with which the queue refuses new work; `nil` if it takes work.
  @inline(__always)
  package final var refusal: ProperationsError? {
    ShutDownQueues.phase(of: self) == nil ? nil : .queueIsShutDown(queue: nameInErrors)
  }
}

extension AnyFuture {
  /// Makes the future belong to a queue; if the queue is shut down, fails it.
  ///
  /// - Parameter isBarrier: Whether a future that occupies its queue is a barrier of it.
  package final func joinUnlessShutDown(
    _ queue: OperationQueue, asBarrier isBarrier: Bool = false, isLate: Bool = false
  ) {
    if let refusal = queue.refusal {
      settle(failure: refusal)
      return
    }
    _ = join(queue, asBarrier: isBarrier, isLate: isLate)
    // The queue may have been shut down meanwhile.
    if ShutDownQueues.phase(of: queue) == .over { cancel() }
  }
}
