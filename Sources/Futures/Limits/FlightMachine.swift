/// Decides which caller loads the value of a key and which callers wait, as a pure value.
///
///   key:  nothing ── begin ──▶ loading ── loaded ──▶ kept, or nothing
///                       ▲         │ └── the last caller leaves ──▶ nothing
///                       │         └──── look, begin ─▶ loading, with one more caller
///                       └── kept: its time is up, or a refresh is forced
///
/// Each load is a *flight* with a number. An event of a flight that is over has no effect.
struct FlightMachine<Key: Hashable, Value: Sendable> {
  /// What a caller finds.
  enum Known {
    case value(Value)
    /// The number and the future of a load that the caller has joined.
    case flight(Int, Future<Value>)
  }

  private struct Flight {
    let number: Int
    let load: Future<Value>
    var callers = 1
    /// Whether the value may be kept.
    var isKeeping = true
  }

  private(set) var kept: KeptValues<Key, Value>
  private var flights: [Key: Flight] = [:]
  private var lastNumber = 0

  init(kept: KeptValues<Key, Value>) { self.kept = kept }

  var loadingCount: Int { flights.count }

  /// A caller looks for a kept value or a load.
  mutating func look(_ key: Key, isForced: Bool, now: Duration) -> (known: Known?, removed: [Any]) {
    var removed: [Any] = []
    if isForced {
      if let old = kept.removeValue(for: key) { removed = [old] }
    } else {
      let (value, old) = kept.value(for: key, now: now)
      if let value { return (.value(value), []) }
      removed = old
    }
    return (join(key).map { .flight($0.number, $0.load) }, removed)
  }

  /// A caller has found nothing and begins a load, or joins the load that another caller
  /// has begun meanwhile.
  mutating func begin(_ load: Future<Value>, _ key: Key) -> (number: Int, load: Future<Value>) {
    if let known = join(key) { return known }
    lastNumber += 1
    flights[key] = Flight(number: lastNumber, load: load)
    return (lastNumber, load)
  }

  private mutating func join(_ key: Key) -> (number: Int, load: Future<Value>)? {
    guard let flight = flights[key] else { return nil }
    flights[key]?.callers += 1
    return (flight.number, flight.load)
  }

  /// A caller leaves; returns the load if no caller is left.
  mutating func leave(_ key: Key, _ number: Int) -> Future<Value>? {
    guard let flight = flights[key], flight.number == number else { return nil }
    flights[key]?.callers -= 1
    return flight.callers == 1 ? flights.removeValue(forKey: key)?.load : nil
  }

  /// A load has ended, with or without a value; returns the objects that the caller
  /// releases after unlocking.
  mutating func loaded(_ value: Value?, _ key: Key, _ number: Int, now: Duration) -> [Any] {
    guard let flight = flights[key], flight.number == number else { return [] }
    flights[key] = nil
    guard let value, flight.isKeeping else { return [flight] }
    return kept.insert(value, for: key, now: now) + [flight]
  }

  mutating func forget(_ key: Key) -> Any? {
    flights[key]?.isKeeping = false
    return kept.removeValue(for: key)
  }

  mutating func forgetAll() -> Any {
    for key in flights.keys { flights[key]?.isKeeping = false }
    return kept.removeAll()
  }
}
