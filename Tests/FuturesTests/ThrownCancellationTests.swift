import Foundation
import Futures
import TestSupport
import Testing

/// `CancellationError`, thrown by a closure, is a cancellation, as the library's
/// own error is.
@Suite("Cancellation thrown by a closure", .timeLimit(.minutes(5)), .oneAtATime)
struct ThrownCancellationTests {
  /// A combinator or a factory whose closure throws.
  private struct Maker: Sendable {
    let name: String
    /// Whether `CancellationError` means cancellation there already.
    var isRight = false
    let make: @Sendable (any Error) -> AnyFuture

    private static let value = Promises.makeSucceeded(with: 1)
    private static let values = Promises.makeSucceeded(with: [1, 2])
    private static let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)

    static let all: [Maker] = [
      Maker(name: "mapToValue") { error in
        value.mapToValue(on: .inline) { _ -> Int in throw error }
      },
      Maker(name: "mapToValue on a queue") { error in
        value.mapToValue(on: .global()) { _ -> Int in throw error }
      },
      Maker(name: "mapToValue on the main queue") { error in
        value.mapToValue { _ -> Int in throw error }
      },
      Maker(name: "compactMapToValue") { error in
        value.compactMapToValue(on: .inline) { _ -> Int? in throw error }
      },
      Maker(name: "mapToFuture") { error in
        value.mapToFuture(on: .inline) { _ -> Future<Int> in throw error }
      },
      Maker(name: "mapResult, thrown") { error in
        value.mapResult(on: .inline) { _ -> FutureResult<Int> in throw error }
      },
      Maker(name: "ensure") { error in value.ensure(on: .inline) { _ in throw error } },
      Maker(name: "recover") { error in failed.recover(on: .inline) { _ in throw error } },
      Maker(name: "recover from a type") { error in
        failed.recover(on: .inline, from: TestError.self) { _ in throw error }
      },
      Maker(name: "recoverToFuture") { error in
        failed.recoverToFuture(on: .inline) { _ in throw error }
      },
      Maker(name: "mapError, thrown") { error in
        failed.mapError(on: .inline) { _ in throw error }
      },
      Maker(name: "mapElementsToValue") { error in
        values.mapElementsToValue(on: .inline) { _ -> Int in throw error }
      },
      Maker(name: "compactMapElementsToValue") { error in
        values.compactMapElementsToValue(on: .inline) { _ -> Int? in throw error }
      },
      Maker(name: "mapElementsToFuture") { error in
        values.mapElementsToFuture(on: .inline) { _ -> Future<Int> in throw error }
      },
      Maker(name: "compactMapElementsToFuture") { error in
        values.compactMapElementsToFuture(on: .inline) { _ -> Future<Int?> in throw error }
      },
      Maker(name: "run") { error in Promises.run(on: .global()) { () -> Int in throw error } },
      Maker(name: "run on the main queue") { error in
        Promises.run { () -> Int in throw error }
      },
      Maker(name: "async", isRight: true) { error in
        Promises.async { () async throws -> Int in throw error }
      },
      Maker(name: "withResolver") { error in
        Promises.withResolver(promising: Int.self) { _ in throw error }
      },
      Maker(name: "wrap") { error in
        Promises.wrap { (_: @escaping @Sendable (Int) -> Void) in throw error }
      },
    ]
  }

  @Test func `the library's own error, thrown, cancels what the closure makes`() async {
    for maker in Maker.all {
      let future = maker.make(ProperationsError.cancelled)
      #expect(await eventually { future.isFulfilled }, "\(maker.name)")
      #expect(future.isCancelled, "\(maker.name)")
    }
  }

  @Test func `CancellationError, thrown, cancels what the closure makes`() async {
    for maker in Maker.all {
      let future = maker.make(CancellationError())
      #expect(await eventually { future.isFulfilled }, "\(maker.name)")
      let isCancelled = future.isCancelled
      #expect(isCancelled, "\(maker.name)")
    }
  }

  @Test func `what settles is the library's own error, whichever of the two was thrown`() async {
    let ways: [(String, @Sendable (any Error) -> Future<Int>)] = [
      (
        "mapToValue",
        { error in Promises.makeSucceeded(with: 1).mapToValue(on: .inline) { _ in throw error } }
      ),
      (
        "mapToFuture",
        { error in Promises.makeSucceeded(with: 1).mapToFuture(on: .inline) { _ in throw error } }
      ),
      ("run", { error in Promises.run(on: .global()) { throw error } }),
      (
        "recover",
        { error in
          Promises.makeFailed(with: TestError.first).recover(on: .inline) { _ in throw error }
        }
      ),
    ]
    for (name, make) in ways {
      let own = await make(ProperationsError.cancelled).completion
      #expect(own.failureValue as? ProperationsError == .cancelled, "\(name)")
      let thrown = await make(CancellationError()).completion
      #expect(thrown.failureValue as? ProperationsError == .cancelled, "\(name)")
    }
    let task = await Promises.async { () async throws -> Int in throw CancellationError() }
      .completion
    #expect(task.failureValue as? ProperationsError == .cancelled)
  }

  @Test func `recover, recoverToFuture and mapError let a thrown CancellationError pass`() {
    let runs = Counter()
    let thrown = Promises.makeSucceeded(with: 1).mapToValue(on: .inline) { _ -> Int in
      throw CancellationError()
    }
    let passed = [
      thrown.recover(on: .inline) { _ in runs.add() },
      thrown.recover(on: .inline, from: CancellationError.self) { _ in runs.add() },
      thrown.recoverToFuture(on: .inline) { _ in Promises.makeSucceeded(with: runs.add()) },
      thrown.mapError(on: .inline) { error in
        runs.add()
        return error
      },
    ]
    #expect(runs.value == 0)
    #expect(passed.allSatisfy { $0.isCancelled })
    #expect(
      passed.allSatisfy { $0.result?.failureValue as? ProperationsError == .cancelled })
  }

  @Test func `a thrown CancellationError runs onCancel, and leaves the future above its value`() {
    let (cancels, failures) = (Counter(), Counter())
    let promise = Promise<Int>()
    let thrown = promise.mapToValue(on: .inline) { _ -> Int in throw CancellationError() }
    let sibling = promise.mapToValue(on: .inline) { $0 }
    thrown.onCancel(on: .inline) { cancels.add() }
    thrown.onFailure(on: .inline) { _ in failures.add() }
    promise.succeed(with: 1)
    #expect(promise.result?.successValue == 1)
    #expect(sibling.result?.successValue == 1)
    #expect(failures.value == 1)
    #expect(cancels.value == 1)
  }

  @Test func `a closure that awaits a task which was cancelled is cancelled itself`() async {
    let (promise, started) = (Promise<Int>(), Event())
    let future = Promises.async { () async throws -> Int in
      started.signal()
      return try await withThrowingTaskGroup(of: Int.self) { group in
        group.addTask { try await promise.value }
        group.cancelAll()
        return try await group.next() ?? 0
      }
    }
    #expect(await started.opened())
    #expect(await future.completion.failureValue as? ProperationsError == .cancelled)
    #expect(future.isCancelled)
  }
}
