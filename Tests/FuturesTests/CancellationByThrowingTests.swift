import Foundation
import Futures
import TestSupport
import Testing

@Suite("Cancelling by throwing", .timeLimit(.minutes(5)), .oneAtATime)
struct CancellationByThrowingTests {
  enum Way: CaseIterable {
    case swift, library

    var error: any Error { self == .swift ? CancellationError() : ProperationsError.cancelled }
  }

  /// Every combinator with a closure that may throw.
  private static func thrown(_ error: any Error) -> [Future<Int>] {
    let one = Promises.makeSucceeded(with: 1)
    let list = Promises.makeSucceeded(with: [1, 2])
    let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
    return [
      Promises.run(on: .inline) { throw error },
      one.mapToValue(on: .inline) { _ -> Int in throw error },
      one.compactMapToValue(on: .inline) { _ -> Int? in throw error },
      one.mapToFuture(on: .inline) { _ -> Future<Int> in throw error },
      one.mapResult(on: .inline) { _ in .failure(error) },
      one.ensure(on: .inline) { _ in throw error },
      list.mapElementsToValue(on: .inline) { _ -> Int in throw error }.mapToValue(on: .inline) {
        $0.count
      },
      list.mapElementsToFuture(on: .inline) { _ -> Future<Int> in throw error }
        .mapToValue(on: .inline) { $0.count },
      failed.recover(on: .inline) { _ in throw error },
      failed.recoverToFuture(on: .inline) { _ in throw error },
      failed.mapError(on: .inline) { _ in error },
      failed.mapError(on: .inline) { _ in throw error },
    ]
  }

  @Test(arguments: Way.allCases)
  func `a closure that throws a cancellation error cancels the future that it makes`(_ way: Way) {
    for (index, future) in Self.thrown(way.error).enumerated() {
      #expect(future.isCancelled, "\(index)")
      #expect(future.result?.failureValue as? ProperationsError == .cancelled, "\(index)")
    }
  }

  @Test(arguments: Way.allCases)
  func `recover and mapError let it pass, onCancel sees it`(_ way: Way) {
    for future in Self.thrown(way.error) {
      let seen = Counter()
      let end = future.recover(on: .inline) { _ in 0 }
        .recoverToFuture(on: .inline) { _ in Promises.makeSucceeded(with: 0) }
        .mapError(on: .inline) { _ in TestError.second }
      end.onCancel(on: .inline) { seen.add() }
      #expect(end.isCancelled)
      #expect(seen.value == 1)
    }
  }
}
