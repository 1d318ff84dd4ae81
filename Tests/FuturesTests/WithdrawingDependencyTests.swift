import Foundation
import Futures
import TestSupport
import Testing

/// A dependency that is taken back while the one depended on tells who waits.
@Suite("Taking a dependency back while it is told", .timeLimit(.minutes(5)), .oneAtATime)
struct WithdrawingDependencyTests {
  /// Does something each time it is asked to start something, and starts it.
  private final class MeddlingContext: ExecutionContext {
    private let meddle: @Sendable () -> Void
    init(_ meddle: @escaping @Sendable () -> Void) { self.meddle = meddle }
    func execute(_ operation: Operation) {
      meddle()
      operation.start()
    }
  }

  @Test func `a context takes a dependency back while it is told: all behind it are told`() {
    let promise = Promise<Int>()
    // (What has dependencies keeps more of its state than others.)
    promise.addDependency(Operation())
    let dependent = Promise<Int>()
    let first = promise.mapToValue(
      on: MeddlingContext { [weak promise] in
        if let promise { dependent.removeDependency(promise as Operation) }
      }
    ) { $0 }
    dependent.addDependency(promise as Operation)
    let behind = (0..<3).map { number in promise.mapToValue(on: .inline) { $0 + number } }
    promise.succeed(with: 1)
    #expect((try? first.result?.get()) == 1)
    #expect(behind.map { try? $0.result?.get() } == [1, 2, 3])
    for future in behind { future.cancel() }
    dependent.cancel()
  }
}
