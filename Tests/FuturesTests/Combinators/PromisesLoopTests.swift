import Foundation
import Futures
import TestSupport
import Testing

@Suite("Promises.loop", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesLoopTests {
  /// A loop that counts up to a number.
  private static func count(
    to limit: Int, on context: some ExecutionContext,
    _ turn: @escaping @Sendable (Int) -> Void = { _ in }
  ) -> Future<String> {
    Promises.loop(0, on: context) { number in
      turn(number)
      return Promises.makeSucceeded(with: number < limit ? .next(number + 1) : .done("\(number)"))
    }
  }

  @Test func `turns follow each other until one is done`() async throws {
    let turns = Log<Int>()
    let future = Self.count(to: 3, on: .inline) { turns.append($0) }
    #expect(future.result?.successValue == "3")
    #expect(turns.entries == [0, 1, 2, 3])
    #expect(try await Self.count(to: 20, on: .global()).value == "20")
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    #expect(try await Self.count(to: 2_000, on: queue).value == "2000")
  }

  @Test @MainActor func `without a context the turns run on the main actor`() async throws {
    var sum = 0
    let future = Promises.loop(1) { number in
      MainActor.preconditionIsolated()
      sum += number
      return Promises.delay(for: .zero).mapToValue(on: .inline) {
        number < 4 ? .next(number + 1) : .done(number)
      }
    }
    #expect(try await future.value == 4)
    #expect(sum == 10)
  }

  @Test func `a turn that fails, throws or is cancelled ends the loop`() {
    let turns = Counter()
    func loop(_ end: @escaping @Sendable () throws -> Future<LoopStep<Int, Int>>) -> Future<Int> {
      Promises.loop(0, on: .inline) { number in
        turns.add()
        return number == 2 ? try end() : Promises.makeSucceeded(with: .next(number + 1))
      }
    }
    #expect(loop { Promises.makeFailed(with: TestError.first) }.error as? TestError == .first)
    #expect(loop { throw TestError.second }.error as? TestError == .second)
    #expect(loop { throw CancellationError() }.isCancelled)
    #expect(turns.value == 9)
  }

  @Test func `cancelling the loop cancels the turn that is pending, and no other starts`() {
    let turns = (0..<3).map { _ in Promise<LoopStep<Int, Int>>() }
    let started = Log<Int>()
    let future = Promises.loop(0, on: .inline) { number in
      started.append(number)
      return turns[number]
    }
    turns[0].succeed(with: .next(1))
    #expect(started.entries == [0, 1])
    future.cancel()
    #expect(turns[1].isCancelled)
    #expect(future.isCancelled)
    #expect(started.entries == [0, 1])
  }

  @Test func `cancelled between two turns it starts none`() {
    let context = ManualContext()
    let started = Counter()
    let future: Future<Int> = Promises.loop(0, on: context) { number in
      started.add()
      return Promises.delay(for: .zero).mapToValue(on: context) { .next(number + 1) }
    }
    #expect(context.runNext())
    future.cancel()
    context.runAll()
    #expect(started.value == 1)
    #expect(future.isCancelled)
  }

  @Test func `a promise that is dropped in a turn breaks the loop`() {
    let future: Future<Int> = Promises.loop(0, on: .inline) { _ in
      Promise<LoopStep<Int, Int>>()
    }
    guard case .brokenPromise? = future.error as? ProperationsError else {
      Issue.record("\(future)")
      return
    }
  }

  @Test func `a turn that waits for the loop itself fails with cycle`() {
    let first = Promise<Int>()
    let outer = Box<Future<Int>?>(nil)
    let future = Promises.loop(0, on: .inline) { number -> Future<LoopStep<Int, Int>> in
      if number == 0 { return first.mapToValue(on: .inline) { .next($0) } }
      return (outer.value ?? first).mapToValue(on: .inline) { .done($0) }
    }
    outer.value = future
    first.succeed(with: 1)
    guard case .cycle? = future.error as? ProperationsError else {
      Issue.record("\(future)")
      return
    }
    outer.value = nil
  }

  @Test func `a handler of a turn may start a loop of its own`() {
    let future = Promises.loop(0, on: .inline) { number in
      Self.count(to: number, on: .inline).mapToValue(on: .inline) { text in
        number < 5 ? .next(number + 1) : .done(text)
      }
    }
    #expect(future.result?.successValue == "5")
  }

  @Test func `100,000 turns take the stack and the memory of one`() async throws {
    let tracker = LifetimeTracker()
    let most = Box(0)
    let value = try await SmallStackThread.running(within: .seconds(240)) {
      Promises.loop(0, on: .inline) { number -> Future<LoopStep<Int, Int>> in
        guard number < 100_000 else { return Promises.makeSucceeded(with: .done(number)) }
        guard number.isMultiple(of: 1_000) else {
          return Promises.makeSucceeded(with: .next(number + 1))
        }
        let object = tracker.make()
        most.value = max(most.value, tracker.alive)
        return Promises.makeSucceeded(with: object).mapToValue(on: .inline) {
          $0.touch()
          return .next(number + 1)
        }
      }.result?.successValue
    }
    #expect(value == 100_000)
    #expect(most.value < 10)
    #expect(tracker.alive == 0)
  }
}
