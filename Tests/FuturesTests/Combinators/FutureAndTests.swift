import Foundation
import Futures
import TestSupport
import Testing

@Suite("Futures combined, flattened and unwrapped", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureAndTests {
  // MARK: Zipping

  @Test("and of three futures of different types: a tuple of their values, in order")
  func and() async throws {
    let (first, second, third) = (Promise<Int>(), Promise<String>(), Promise<Bool>())
    let all = first.and(second, third)
    third.succeed(with: true)
    first.succeed(with: 1)
    #expect(!all.isFulfilled)
    second.succeed(with: "two")
    let value = try await all.value
    #expect(value == (1, "two", true))
  }

  @Test("and of settled futures: the values")
  func settled() async throws {
    let (one, two) = (
      Promises.makeSucceeded(with: 1), Promises.makeSucceeded(with: "two")
    )
    #expect(try await one.and(two).value == (1, "two"))
  }

  @Test("and of failed futures: every error by position")
  func failures() async throws {
    let good = Promises.makeSucceeded(with: 1)
    let bad = Promises.makeFailed(with: TestError.first, promising: Int.self)
    let all = good.and(bad, good)
    await #expect(throws: ProperationsError.multipleErrors([nil, TestError.first, nil])) {
      try await all.value
    }
  }

  @Test("and, cancelled: so are the futures that nobody else wants")
  func cancelled() {
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let told = Counter()
    first.onCancellationRequest { told.add() }
    second.onCancellationRequest { told.add() }
    first.mapToValue(on: .inline) { $0 }.and(second.mapToValue(on: .inline) { $0 }).cancel()
    #expect(told.value == 2)
  }

  // MARK: Flattening

  @Test("flatten settles like the inner future: value, error, cancellation")
  func flatten() async throws {
    let inner = Promise<Int>()
    let outer = Promise<Future<Int>>()
    let flat = outer.flatten()
    outer.succeed(with: inner)
    #expect(!flat.isFulfilled)
    inner.succeed(with: 1)
    #expect(try await flat.value == 1)
    let failed = Promises.makeSucceeded(
      with: Promises.makeFailed(with: TestError.first, promising: Int.self))
    await #expect(throws: TestError.first) { try await failed.flatten().value }
    let gone = Promise<Int>()
    gone.cancel()
    #expect(Promises.makeSucceeded(with: gone as Future<Int>).flatten().isCancelled)
  }

  @Test("flatten of a future that fails or is cancelled: it does likewise")
  func flattenOuter() async throws {
    let failed = Promises.makeFailed(with: TestError.first, promising: Future<Int>.self)
    await #expect(throws: TestError.first) { try await failed.flatten().value }
    let cancelled = Promise<Future<Int>>()
    let flat = cancelled.flatten()
    cancelled.cancel()
    #expect(flat.isCancelled)
  }

  @Test("flatten, cancelled: so is the inner future")
  func flattenCancelled() {
    let inner = Promise<Int>()
    let told = Counter()
    inner.onCancellationRequest { told.add() }
    Promises.makeSucceeded(with: inner.mapToValue(on: .inline) { $0 }).flatten().cancel()
    #expect(told.value == 1)
  }

  // MARK: Optional values

  @Test("?? keeps a value, and replaces a missing one")
  func replaceNil() async throws {
    let (some, none) = (
      Promises.makeSucceeded(with: 1 as Int?), Promises.makeSucceeded(with: nil as Int?)
    )
    let made = Counter()
    @Sendable func make() -> Int { made.add() }
    #expect(try await (some ?? make()).value == 1)
    #expect(made.value == 0)
    #expect(try await (none ?? make()).value == 1)
    #expect(made.value == 1)
  }

  @Test("?? with a replacement that throws fails, and an error is not replaced")
  func replaceNilFails() async throws {
    @Sendable func fail() throws -> Int { throw TestError.second }
    let none = Promises.makeSucceeded(with: nil as Int?)
    let failing = none ?? (try fail())
    await #expect(throws: TestError.second) { try await failing.value }
    let failed = Promises.makeFailed(with: TestError.first, promising: Int?.self)
    await #expect(throws: TestError.first) { try await (failed ?? 7).value }
    let pending = Promise<Int?>()
    let replaced = pending ?? 7
    pending.cancel()
    #expect(replaced.isCancelled)
  }

  @Test("mapToValue with a key path and a context reads the property there")
  func keyPath() async throws {
    struct Place: Sendable {
      let name: String
      var isOnQueue: Bool { OperationQueue.current?.name == "places" }
    }
    let queue = OperationQueue()
    queue.name = "places"
    let place = Promises.makeSucceeded(with: Place(name: "lighthouse"))
    #expect(try await place.mapToValue(on: queue, \.name).value == "lighthouse")
    #expect(try await place.mapToValue(on: queue, \.isOnQueue).value)
    #expect(try await place.mapToValue(\.name).value == "lighthouse")
  }
}
