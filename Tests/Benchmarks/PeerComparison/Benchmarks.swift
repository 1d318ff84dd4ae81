import Benchmark

/// All cases.
///
/// Each case runs for this package and for the peers that have the feature. Each says
/// what is the same on both sides and what is not. In every case the values are `Int`s,
/// the closures add one, and the result is checked. A measurement is that of the whole
/// case: divide it by the number in the name.
let benchmarks: @Sendable () -> Void = {
  Benchmark.defaultConfiguration = .init(
    metrics: [.wallClock, .cpuTotal], warmupIterations: 1, maxDuration: .seconds(1),
    maxIterations: 1000)
  createAndSettle()
  chains()
  hops()
  recursion()
  joining()
  fanOut()
  idlePending()
  contention()
  cancelling()
  awaiting()
  blocking()
  memory()
}

/// The measured libraries.
enum Peer: String {
  case ours = "Properations"
  case nio = "SwiftNIO"
  case openCombine = "OpenCombine"
  case task = "Swift tasks"
  case operation = "Foundation operations"
  case dispatch = "Dispatch"
  case asyncAlgorithms = "swift-async-algorithms"
}

/// Adds a case for one peer.
func measure(_ name: String, _ peer: Peer, _ work: @escaping @Sendable () throws -> Void) {
  Benchmark("\(name) - \(peer.rawValue)") { benchmark in
    benchmark.startMeasurement()
    try work()
    benchmark.stopMeasurement()
  }
}

/// Adds a case for one peer; setup and teardown are not measured.
func measure<Input>(
  _ name: String, _ peer: Peer, setUp: @escaping @Sendable () throws -> Input,
  tearDown: @escaping @Sendable (Input) throws -> Void = { _ in },
  _ work: @escaping @Sendable (Input) throws -> Void
) {
  Benchmark("\(name) - \(peer.rawValue)") { benchmark in
    let input = try setUp()
    benchmark.startMeasurement()
    try work(input)
    benchmark.stopMeasurement()
    try tearDown(input)
  }
}

/// Adds a case for one peer that awaits.
func measureAsync(
  _ name: String, _ peer: Peer, _ work: @escaping @Sendable () async throws -> Void
) {
  Benchmark("\(name) - \(peer.rawValue)") { benchmark async throws in
    benchmark.startMeasurement()
    try await work()
    benchmark.stopMeasurement()
  }
}

/// Formats a number for the name of a case.
func text(_ number: Int) -> String {
  var digits = String(number)[...]
  var groups: [Substring] = []
  while digits.count > 3 {
    groups.insert(digits.suffix(3), at: 0)
    digits = digits.dropLast(3)
  }
  return ([digits] + groups).joined(separator: "_")
}
