/// The loads whose closures have led to the current code, the last 16 of them.
///
/// Swift tasks that a load starts inherit the path. So a load that awaits its own key
/// fails, although a search for cycles does not see for what a task waits. Tasks of contexts
/// (actors, executors) do not inherit it: the thread that settles a future starts them.
struct FlightPath: Sendable {
  @TaskLocal static var current = FlightPath.none
  static let none = FlightPath(loads: [])

  private let loads: [FutureReference]

  private init(loads: [FutureReference]) { self.loads = loads }

  /// The path from the current code to a load.
  init(to load: AnyFuture) { loads = Self.current.loads.suffix(15) + [load.reference] }

  func leads(through load: AnyFuture) -> Bool { loads.contains { $0.future === load } }

  /// Runs code as if this path had led to it.
  func run<Output>(_ body: () throws -> Output) rethrows -> Output {
    try Self.$current.withValue(self) { try body() }
  }
}
