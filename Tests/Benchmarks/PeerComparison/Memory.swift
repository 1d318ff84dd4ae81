import Benchmark
import NIOCore
import Properations
import Workloads

/// The memory of a hundred thousand pending links.
///
/// The same: a promise and its downstream closures, none of which has run. The peak of
/// the process is measured, so compare it with the empty case.
func memory() {
  let count = 100_000
  func measured(_ name: String, _ work: @escaping @Sendable () throws -> Void) {
    Benchmark(
      name,
      configuration: .init(
        metrics: [.peakMemoryResident], warmupIterations: 0, maxIterations: 3)
    ) { _ in try work() }
  }
  measured("Memory of no pending links") {}
  measured("Memory of \(text(count)) pending links - \(Peer.ours.rawValue)") {
    let chain = InlineChain.pending(length: count)
    withExtendedLifetime(chain) { expect(chain.last.result == nil) }
    chain.promise.succeed(with: 0)
  }
  measured("Memory of \(text(count)) pending links - \(Peer.nio.rawValue)") {
    try Loops.run {
      let promise = Loops.first.makePromise(of: Int.self)
      var future = promise.futureResult
      for _ in 0..<count { future = future.map { $0 + 1 } }
      promise.succeed(0)
      future.whenSuccess { expect($0 == count) }
    }
  }
}
