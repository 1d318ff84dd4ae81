import Futures

/// Counts the slots of a queue that are used or asked for.
///
/// The counts are atomic because the table of categories reads them with its lock held,
/// and Foundation's properties take a lock.
final class SlotUse: Sendable {
  private let used = Atomic<Int>(0)
  private let limit = Atomic<Int>(.max)
  private let isSuspended = Atomic<Bool>(false)
  /// The number of requests for a slot that come from the table of categories.
  private let asking = Atomic<Int>(0)
  /// The number of slots that are held by tasks which wait for their parts.
  private let held = Atomic<Int>(0)

  func holds() { held.wrappingAdd(1, ordering: .acquiringAndReleasing) }
  func stopsHolding() { held.wrappingSubtract(1, ordering: .acquiringAndReleasing) }
  var isAnyHeld: Bool { held.load(ordering: .acquiring) > 0 }

  func asks() { asking.wrappingAdd(1, ordering: .relaxed) }
  func stopsAsking() { asking.wrappingSubtract(1, ordering: .relaxed) }
  var isAskedFor: Bool { asking.load(ordering: .relaxed) > 0 }

  func add() { used.wrappingAdd(1, ordering: .relaxed) }
  func remove() { used.wrappingSubtract(1, ordering: .relaxed) }
  func setLimit(_ count: Int) { limit.store(count < 0 ? .max : count, ordering: .relaxed) }
  func setSuspended(_ value: Bool) { isSuspended.store(value, ordering: .relaxed) }

  /// Whether the queue appears to have a free slot, which no task has asked for.
  var hasRoom: Bool { hasRoom(besidesOneToBeFree: false) }

  /// Whether the queue appears to have a slot for a task that has asked for the last free one.
  var hasRoomForLastRequest: Bool { hasRoom(besidesOneToBeFree: true) }

  /// Whether the queue appears to have a free slot.
  ///
  /// - Parameter isOneFreed: Whether one of the slots counts as free although it is used.
  func hasRoom(besidesOneToBeFree isOneFreed: Bool) -> Bool {
    let used = used.load(ordering: .relaxed) - (isOneFreed ? 1 : 0)
    return !isHalted && used < limit.load(ordering: .relaxed)
  }

  /// Whether the queue is suspended, and starts nothing.
  var isHalted: Bool { isSuspended.load(ordering: .relaxed) }

  /// Copies what other threads may set, too: the last of them copies what holds.
  static func copy<Value: Equatable>(_ current: () -> Value, _ store: (Value) -> Void) {
    var copied: Value
    repeat {
      copied = current()
      store(copied)
    } while current() != copied
  }
}
