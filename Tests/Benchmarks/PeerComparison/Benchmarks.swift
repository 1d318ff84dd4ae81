import Benchmark

/// All cases.
///
/// Each is there for us and for those peers that have it. What is the same on
/// both sides, and what is not, stands at each; in every case the numbers are
/// `Int`s, the closures add one, and the result is checked. Each measurement
/// is of the whole: divide by the number in the name.
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

/// Who is measured.
enum Peer: String {
  case ours = "Properations"
  case nio = "SwiftNIO"
  case openCombine = "OpenCombine"
  case task = "Swift tasks"
  case operation = "Foundation operations"
  case dispatch = "Dispatch"
  case asyncAlgorithms = "swift-async-algorithms"
}

/// A case for one peer.
func measure(_ name: String, _ peer: Peer, _ work: @escaping @Sendable () throws -> Void) {
  Benchmark("\(name) - \(peer.rawValue)") { benchmark in
    benchmark.startMeasurement()
    try work()
    benchmark.stopMeasurement()
  }
}

/// A case for one peer whose setting up and tearing down do not count.
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

/// A case for one peer that awaits.
func measureAsync(
  _ name: String, _ peer: Peer, _ work: @escaping @Sendable () async throws -> Void
) {
  Benchmark("\(name) - \(peer.rawValue)") { benchmark async throws in
    benchmark.startMeasurement()
    try await work()
    benchmark.stopMeasurement()
  }
}

/// A number in the name of a case.
func text(_ number: Int) -> String {
  var digits = String(number)[...]
  var groups: [Substring] = []
  while digits.count > 3 {
    groups.insert(digits.suffix(3), at: 0)
    digits = digits.dropLast(3)
  }
  return ([digits] + groups).joined(separator: "_")
}
