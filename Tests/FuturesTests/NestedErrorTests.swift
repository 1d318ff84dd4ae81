import Foundation
import Futures
import TestSupport
import Testing

/// Errors that contain errors, as deep as folding makes them.
///
/// Each test runs in a process of its own: a stack that is too small ends the
/// process.
@Suite("Errors nested by combining", .timeLimit(.minutes(5)), .oneAtATime)
struct NestedErrorTests {
  /// Combines a future with another one, again and again.
  @Sendable private static func fold(
    _ depth: Int, from start: Future<Void>,
    _ combine: (Future<Void>, Future<Void>) -> Future<Void>
  ) -> Future<Void> {
    // (A sanitizer takes ten times as long.)
    #if PROPERATIONS_INVARIANTS
      let depth = depth / 10
    #endif
    let other = Promises.makeSucceeded(with: ())
    var folded = start
    for _ in 0..<depth { folded = combine(folded, other) }
    return folded
  }

  @Sendable private static func combined(_ a: Future<Void>, _ b: Future<Void>) -> Future<Void> {
    Promises.combine(a, b).mapToVoid()
  }

  /// Whether the error says that the first of two inputs has failed.
  @Sendable private static func saysFirstFailed(_ error: (any Error)?) -> Bool {
    guard case .multipleErrors(let errors) = error as? ProperationsError else { return false }
    return errors.count == 2 && errors[0] != nil && errors[1] == nil
  }

  /// Ends the process, as failed, unless something holds on a small stack.
  @Sendable private static func demandOnSmallStack(
    stackSize: Int = 512 * 1024, _ isSo: @escaping @Sendable () -> Bool
  ) async throws {
    let holds = try await SmallStackThread.running(
      stackSize: stackSize, isSo)
    if !holds { exit(EXIT_FAILURE) }
  }

  #if os(Linux) || os(macOS)
    @Test func `2,000 levels of combine on a failed future are released on a 512 KiB stack`() async
    {
      await #expect(processExitsWith: .success) {
        try await Self.demandOnSmallStack {
          let failed = Promises.makeFailed(with: TestError.first, promising: Void.self)
          let folded = Self.fold(2_000, from: failed, Self.combined)
          return Self.saysFirstFailed(folded.result?.failureValue)
        }
      }
    }

  #endif

  @Test func `a few levels keep every error at its position`() {
    let failed = Promises.makeFailed(with: TestError.first, promising: Void.self)
    let other = Promises.makeFailed(with: TestError.second, promising: Void.self)
    let succeeded = Promises.makeSucceeded(with: ())
    let folded = Self.combined(Self.combined(Self.combined(failed, succeeded), other), succeeded)
    #expect(
      folded.result?.failureValue as? ProperationsError
        == .multipleErrors([
          ProperationsError.multipleErrors([
            ProperationsError.multipleErrors([TestError.first, nil]), TestError.second,
          ]), nil,
        ]))
  }
}
