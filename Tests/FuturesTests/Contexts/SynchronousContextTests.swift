import Foundation
import Futures
import TestSupport
import Testing

/// How long a wait may take that the library has to end.
private let patience = Event.patience

/// A context that starts operations where it is asked to, and counts how many
/// run inside each other.
private final class NestingContext: ExecutionContext {
  let depth = Counter()

  func execute(_ operation: Operation) {
    depth.add(1)
    operation.start()
    depth.add(-1)
  }
}

/// What a closure does that settles something.
private enum Doing: CaseIterable, Sendable {
  case makingASettledFuture
  case makingAFailedFuture
  case runningInline
  case settlingAPromise
  case cancellingAPromise
  case attachingLate

  func act() {
    let promise = Promise<Int>()
    switch self {
    case .makingASettledFuture: _ = Promises.makeSucceeded(with: 1)
    case .makingAFailedFuture: _ = Promises.makeFailed(with: TestError.first, promising: Int.self)
    case .runningInline: _ = Promises.run(on: .inline) {}
    case .settlingAPromise: promise.succeed(with: 1)
    case .cancellingAPromise: promise.cancel()
    case .attachingLate: Promises.makeSucceeded(with: 1).onSuccess(on: .inline) { _ in }
    }
  }
}

@Suite("A context that starts operations at once", .timeLimit(.minutes(5)), .oneAtATime)
struct SynchronousContextTests {
  /// Two futures settle with one promise, each with a closure on the context.
  ///
  /// Returns what was done, in order.
  private func twoClosures(
    on context: some ExecutionContext, first: @escaping @Sendable () -> Void
  ) async throws -> [String] {
    try await SmallStackThread.running(within: patience * 3) {
      let promise = Promise<Int>()
      let log = Log<String>()
      let (one, two) = (promise.mapToVoid(), promise.mapToVoid())
      one.onFailure(on: context) { _ in
        log.append("one begins")
        first()
        log.append("one ends")
      }
      two.onFailure(on: context) { _ in log.append("two") }
      promise.fail(with: TestError.first)
      return log.entries
    }
  }

  @Test(arguments: Doing.allCases)
  fileprivate func `a closure settles something: an unrelated one there runs after it`(
    _ doing: Doing
  ) async throws {
    let context = NestingContext()
    let entries = try await twoClosures(on: context) { doing.act() }
    #expect(entries == ["one begins", "one ends", "two"])
    #expect(context.depth.highest == 1)
  }

  @Test(arguments: Doing.allCases)
  fileprivate func `the same where the context takes a lock: both closures run`(
    _ doing: Doing
  ) async throws {
    let context = LockingContext()
    let entries = try await twoClosures(on: context) { doing.act() }
    #expect(entries == ["one begins", "one ends", "two"])
    #expect(context.refused.value == 0)
  }

  @Test func `a closure settles a promise that has a closure there: that one runs after it`()
    async throws
  {
    let context = NestingContext()
    let entries = try await SmallStackThread.running {
      let (promise, other) = (Promise<Int>(), Promise<Int>())
      let log = Log<String>()
      other.onSuccess(on: context) { _ in log.append("other") }
      promise.onSuccess(on: context) { _ in
        log.append("one begins")
        other.succeed(with: 1)
        log.append("one ends")
      }
      promise.succeed(with: 1)
      return log.entries
    }
    #expect(entries == ["one begins", "one ends", "other"])
    #expect(context.depth.highest == 1)
  }

  @Test func `a closure waits for what a closure there makes: gets the value`() async throws {
    let context = NestingContext()
    let value = try await SmallStackThread.running {
      let (promise, other) = (Promise<Int>(), Promise<Int>())
      let below = other.mapToValue(on: context) { $0 + 1 }
      let outcome = promise.mapToValue(on: context) { value in
        other.succeed(with: value)
        return try below.wait(timeout: patience)
      }
      promise.succeed(with: 1)
      return outcome.result?.successValue
    }
    #expect(value == 2)
  }

  /// A context that calls something before it starts its first operation.
  private final class CallingContext: ExecutionContext, @unchecked Sendable {
    // Sendable: used by one thread at a time.
    var call: (() -> Void)?

    func execute(_ operation: Operation) {
      call.take()?()
      operation.start()
    }
  }

  @Test func `a context waits for a closure of its own, with no closure around: gets the value`()
    async throws
  {
    let value = try await SmallStackThread.running {
      let (context, value) = (CallingContext(), Box<Int?>(nil))
      context.call = {
        let future = Promises.makeSucceeded(with: 1).mapToValue(on: context) { $0 + 1 }
        value.value = try? future.wait(timeout: patience)
      }
      _ = Promises.run(on: context) {}
      return value.value
    }
    #expect(value == 2)
  }
}
