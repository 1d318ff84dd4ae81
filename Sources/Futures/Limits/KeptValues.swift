/// A limited number of values, each kept for a limited time.
///
/// When there are too many, the least recently used value goes first. The values form a
/// doubly linked list in an array, the most recently used one first.
///
/// Each call returns what it removes, so that the caller releases it after unlocking.
///
/// - Complexity: O(1) amortized for each call.
struct KeptValues<Key: Hashable, Value> {
  private struct Slot {
    var key: Key
    var value: Value
    /// When the value was kept.
    var time: Duration
    var newer: Int?
    var older: Int?
  }

  private let limit: Int
  private let timeToLive: Duration
  private var slots: [Slot?] = []
  private var free: [Int] = []
  private var index: [Key: Int] = [:]
  private var newest: Int?
  private var oldest: Int?
  /// When the count reaches this number, `insert` removes the values whose time is up.
  private var sweepCount = 16

  init(limit: Int, timeToLive: Duration) {
    self.limit = max(limit, 0)
    self.timeToLive = timeToLive
  }

  var count: Int { index.count }

  /// Whether values are kept at all.
  var isKeeping: Bool { limit > 0 && timeToLive > .zero }

  /// The value of a key; if its time is up, it is removed instead.
  mutating func value(for key: Key, now: Duration) -> (value: Value?, removed: [Any]) {
    guard let place = index[key], let slot = slots[place] else { return (nil, []) }
    guard isFresh(slot, now.bounded) else { return (nil, [remove(place) as Any]) }
    unlink(place)
    link(place)
    return (slot.value, [])
  }

  /// Keeps a value; returns the removed values.
  mutating func insert(_ value: Value, for key: Key, now: Duration) -> [Any] {
    guard isKeeping else { return [] }
    let now = now.bounded
    var removed: [Any] = []
    if let place = index[key] { removed.append(remove(place) as Any) }
    if count >= sweepCount {
      var next = oldest
      while let place = next, let slot = slots[place] {
        next = slot.newer
        if !isFresh(slot, now) { removed.append(remove(place) as Any) }
      }
      sweepCount = max(16, count * 2)
    }
    if count >= limit, let oldest { removed.append(remove(oldest) as Any) }
    let slot = Slot(key: key, value: value, time: now)
    let place = free.popLast() ?? slots.count
    if place == slots.count { slots.append(slot) } else { slots[place] = slot }
    index[key] = place
    link(place)
    return removed
  }

  mutating func removeValue(for key: Key) -> Any? { index[key].map { remove($0) as Any } }

  mutating func removeAll() -> Any {
    defer { self = KeptValues(limit: limit, timeToLive: timeToLive) }
    return (slots, index)
  }

  // A value whose time is later than now is not fresh: the clock was set back.
  private func isFresh(_ slot: Slot, _ now: Duration) -> Bool {
    slot.time <= now && now - slot.time < timeToLive
  }

  private mutating func remove(_ place: Int) -> Slot? {
    guard let slot = slots[place] else { return nil }
    unlink(place)
    index[slot.key] = nil
    slots[place] = nil
    free.append(place)
    return slot
  }

  private mutating func link(_ place: Int) {
    slots[place]?.newer = nil
    slots[place]?.older = newest
    if let newest { slots[newest]?.newer = place } else { oldest = place }
    newest = place
  }

  private mutating func unlink(_ place: Int) {
    guard let slot = slots[place] else { return }
    if let newer = slot.newer { slots[newer]?.older = slot.older } else { newest = slot.older }
    if let older = slot.older { slots[older]?.newer = slot.newer } else { oldest = slot.newer }
  }
}
