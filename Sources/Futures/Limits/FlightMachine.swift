/// Decides which caller loads the value of a key and which callers wait, as a pure value.
///
///   key:  nothing ── begin ──▶ loading ── loaded ──▶ kept, or nothing
///                       ▲         │ └── the last caller leaves ──▶ nothing
///                       │         ├──── look, begin ─▶ loading, with one more caller
///                       │         └──── forget ──▶ nothing; its callers wait on, apart
///                       └── kept: its time is up, or a refresh is forced
///
/// Each load is a *flight* with a number. An event of a flight that is over has no effect.
struct FlightMachine<Key: Hashable, Value: Sendable> {
  /// What a caller finds.
  enum Known {
    case value(Value)
    /// The number and the future of a load that the caller has joined or begun.
    case flight(Int, Future<Value>)
  }

  private struct Flight {
    let number: Int
    let load: Future<Value>
    var callers = 1
  }

  private(set) var kept: KeptValues<Key, Value>
  private var flights: [Key: Flight] = [:]
  /// The flights of forgotten keys, by number: no caller joins them, and their values are not
  /// kept.
  private var forgotten: [Int: Flight] = [:]
  private var lastNumber = 0
  /// A caller that is late would otherwise find values that were kept after its time.
  private var latest = LatestTime()
  private var setBacks = 0

  init(kept: KeptValues<Key, Value>) { self.kept = kept }

  var loadingCount: Int { flights.count + forgotten.count }

  /// A caller looks for a kept value or a load.
  ///
  /// - Parameter setBacks: How often the clock was set back. Values from before the last time
  ///   are not used any more.
  mutating func look(
    _ key: Key, isForced: Bool, now: Duration, setBacks: Int = 0
  ) -> (known: Known?, removed: [Any]) {
    var removed = dropValues(fromBefore: setBacks)
    if isForced {
      if let old = kept.removeValue(for: key) { removed.append(old) }
    } else {
      let (value, old) = kept.value(for: key, now: latest.advance(to: now))
      if let value { return (.value(value), removed) }
      removed += old
    }
    return (join(key), removed)
  }

  /// A caller has found nothing and begins a load, unless another caller has begun one
  /// meanwhile; that load may even be over.
  mutating func begin(
    _ load: Future<Value>, _ key: Key, now: Duration
  ) -> (known: Known, removed: [Any]) {
    let (known, removed) = look(key, isForced: false, now: now)
    if let known { return (known, removed) }
    lastNumber += 1
    flights[key] = Flight(number: lastNumber, load: load)
    return (.flight(lastNumber, load), removed)
  }

  private mutating func join(_ key: Key) -> Known? {
    guard let flight = flights[key] else { return nil }
    flights[key]?.callers += 1
    return .flight(flight.number, flight.load)
  }

  /// A caller leaves; returns the load if no caller is left.
  mutating func leave(_ key: Key, _ number: Int) -> Future<Value>? {
    if let flight = flights[key], flight.number == number {
      flights[key]?.callers -= 1
      return flight.callers == 1 ? flights.removeValue(forKey: key)?.load : nil
    }
    forgotten[number]?.callers -= 1
    return forgotten[number]?.callers == 0 ? forgotten.removeValue(forKey: number)?.load : nil
  }

  /// A load has ended, with or without a value; returns the objects that the caller
  /// releases after unlocking.
  mutating func loaded(
    _ value: Value?, _ key: Key, _ number: Int, now: Duration, setBacks: Int = 0
  ) -> [Any] {
    guard let flight = flights[key], flight.number == number else {
      return forgotten.removeValue(forKey: number).map { [$0] } ?? []
    }
    flights[key] = nil
    guard let value else { return [flight] }
    let removed = dropValues(fromBefore: setBacks)
    return removed + kept.insert(value, for: key, now: latest.advance(to: now)) + [flight]
  }

  /// Drops all values if the clock was set back once more.
  private mutating func dropValues(fromBefore setBacks: Int) -> [Any] {
    guard setBacks > self.setBacks else { return [] }
    self.setBacks = setBacks
    return [kept.removeAll()]
  }

  mutating func forget(_ key: Key) -> Any? {
    if let flight = flights.removeValue(forKey: key) { forgotten[flight.number] = flight }
    return kept.removeValue(for: key)
  }

  mutating func forgetAll() -> Any {
    for flight in flights.values { forgotten[flight.number] = flight }
    flights = [:]
    return kept.removeAll()
  }
}
