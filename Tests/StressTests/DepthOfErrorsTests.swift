import Foundation
import Futures
import TestSupport
import Testing

/// Errors that contain errors, as deep as folding makes them, need no stack.
///
/// Tests that end the process when a stack is too small run in a process of their own.
@Suite(.enabled(if: isStressing), .timeLimit(.minutes(5)), .serialized)
struct DepthOfErrorsTests {
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

  @Sendable private static func collected(_ a: Future<Void>, _ b: Future<Void>) -> Future<Void> {
    Promises.collect([a, b]).mapToVoid()
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
    @Test func `100,000 levels of combine on a promise that fails are released on a 512 KiB stack`()
      async
    {
      await #expect(processExitsWith: .success) {
        try await Self.demandOnSmallStack {
          let promise = Promise<Void>()
          let folded = Self.fold(100_000, from: promise, Self.combined)
          promise.fail(with: TestError.first)
          return Self.saysFirstFailed(folded.result?.failureValue)
        }
      }
    }

    @Test func `40,000 levels of collect on a failed future are released on an 8 MiB stack`() async
    {
      await #expect(processExitsWith: .success) {
        try await Self.demandOnSmallStack(stackSize: 8 << 20) {
          let failed = Promises.makeFailed(with: TestError.first, promising: Void.self)
          let folded = Self.fold(40_000, from: failed, Self.collected)
          return Self.saysFirstFailed(folded.result?.failureValue)
        }
      }
    }

    @Test func `100,000 levels under an error that outlives all futures are released`() async {
      await #expect(processExitsWith: .success) {
        try await Self.demandOnSmallStack {
          let promise = Promise<Void>()
          var error: (any Error)?
          do {
            let folded = Self.fold(100_000, from: promise, Self.collected)
            promise.cancel()
            error = folded.result?.failureValue
          }
          let isRight = Self.saysFirstFailed(error)
          error = nil
          return isRight
        }
      }
    }

    @Test func `100,000 levels can be described and compared on a 512 KiB stack`() async {
      await #expect(processExitsWith: .success) {
        try await Self.demandOnSmallStack {
          @Sendable func error() -> ProperationsError? {
            let failed = Promises.makeFailed(with: TestError.first, promising: Void.self)
            return Self.fold(100_000, from: failed, Self.combined)
              .result?.failureValue as? ProperationsError
          }
          guard let first = error(), let second = error() else { return false }
          return first == second && first.errorDescription?.isEmpty == false
        }
      }
    }

  #endif

  // MARK: In this process

  /// Fails; each level has the one before at position 0.
  private static func folded(_ depth: Int, rethrowing: Bool = false) -> Future<Int> {
    var all = failing(0)
    // (The thread sanitizer takes ten times as long.)
    #if PROPERATIONS_THREAD_SANITIZER
      let depth = depth > 1_000 ? depth / 10 : depth
    #endif
    for level in 1...depth {
      all = Promises.combine(all, failing(level)).mapToValue(on: .inline) { _, last in last }
      if rethrowing { all = all.mapError(on: .inline) { $0 } }
    }
    return all
  }

  private static func failing(_ number: Int) -> Future<Int> {
    Promises.makeFailed(with: TestError.numbered(number))
  }

  private static func error(_ depth: Int, rethrowing: Bool = false) throws -> ProperationsError {
    try #require(folded(depth, rethrowing: rethrowing).result?.failureValue as? ProperationsError)
  }

  @Test(arguments: [false, true])
  func `40,000 levels are released on a small stack`(_ rethrowing: Bool) async throws {
    try await SmallStackThread.running {
      let error = try Self.error(40_000, rethrowing: rethrowing)
      withExtendedLifetime(error) {}
    }
  }

  @Test func `40,000 levels are described in a few words, and compared, on a small stack`()
    async throws
  {
    try await SmallStackThread.running {
      let (error, same) = (try Self.error(40_000), try Self.error(40_000))
      let other = try Self.error(39_999)
      #expect(error.localizedDescription.utf8.count < 1_000)
      #expect(error.localizedDescription.contains("numbered(0)"))
      #expect("\(error)".utf8.count < 100_000)
      #expect(error == same)
      #expect(error != other)
    }
  }
}
