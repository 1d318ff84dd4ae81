import Foundation
import Futures
import TestSupport
import Testing

/// How many rounds each race has.
///
/// `PROPERATIONS_RACE_ROUNDS` makes them more or fewer.
private let rounds =
  ProcessInfo.processInfo.environment["PROPERATIONS_RACE_ROUNDS"].flatMap { Int($0) } ?? 12_000

/// How long a thread holds back in a round: not at all in every other round;
/// else all pairs of delays have their turn.
private func delay(of thread: Int, in round: Int) -> Int {
  round % 2 == 0 ? 0 : (thread == 0 ? round / 2 : round / 8) % 4
}

/// Threads that close a cycle together: none of its futures stays pending.
@Suite("Cycles closed by several threads at once", .timeLimit(.minutes(5)), .oneAtATime)
struct CycleRaceTests {
  /// Counts rounds that left something pending, and rounds without a `cycle`.
  private final class Score: Sendable {
    let pending = Counter()
    let unnoticed = Counter()

    func note(_ futures: [Future<Int>], needsCycle: Bool = true) {
      if !futures.allSatisfy(\.isFulfilled) { pending.add() }
      let cycles = futures.filter { future in
        if case .cycle? = future.result?.failureValue as? ProperationsError { return true }
        return false
      }
      if needsCycle, cycles.isEmpty { unnoticed.add() }
    }

    func expectNone(_ name: String) {
      #expect(pending.value == 0, "\(name)")
      #expect(unnoticed.value == 0, "\(name)")
    }
  }

  /// Two links with a gate each.
  private final class Pair: Sendable {
    let start = SpinBarrier(2)
    let round: Int
    let gates = [Promise<Int>(), Promise<Int>()]
    let links: [Future<Int>]
    init(_ round: Int) {
      self.round = round
      links = gates.map { $0.mapToValue(on: .inline) { $0 } }
    }

    func open() { for gate in gates { gate.succeed(with: 1) } }
  }

  @Test func `two links become dependencies of each other: one fails with cycle, both settle`()
    async
  {
    let score = Score()
    let ended = await RaceHarness(threads: 2, rounds: rounds).run { round in
      Pair(round)
    } act: { pair, thread in
      pair.start.meet()
      pair.links[thread].addDependency(pair.links[1 - thread])
    } check: { pair, _ in
      pair.open()
      score.note(pair.links)
    }
    #expect(ended)
    score.expectNone("dependencies")
  }

  @Test func `a link depends on a promise while that is to settle like it: cycle, both settle`()
    async
  {
    let score = Score()
    let ended = await RaceHarness(threads: 2, rounds: rounds).run { round in
      Pair(round)
    } act: { pair, thread in
      pair.start.meet()
      if thread == 0 {
        pair.links[0].addDependency(pair.gates[1])
      } else {
        pair.gates[1].fulfill(from: pair.links[0])
      }
    } check: { pair, _ in
      pair.gates[0].succeed(with: 1)
      score.note([pair.links[0], pair.gates[1]])
    }
    #expect(ended)
    score.expectNone("dependency, fulfill")
  }

  @Test func `an inner future depends on the mapToFuture that is about to return it: both settle`()
    async
  {
    final class Nested: Sendable {
      let start = SpinBarrier(2)
      let round: Int
      let (gate, other) = (Promise<Int>(), Promise<Int>())
      let (inner, outer): (Future<Int>, Future<Int>)
      init(_ round: Int) {
        self.round = round
        let inner = other.mapToValue(on: .inline) { $0 }
        self.inner = inner
        outer = gate.mapToFuture(on: .inline) { _ in inner }
      }
    }
    let score = Score()
    let ended = await RaceHarness(threads: 2, rounds: rounds).run { round in
      Nested(round)
    } act: { nested, thread in
      nested.start.meet(delay: delay(of: thread, in: nested.round))
      if thread == 0 {
        nested.gate.succeed(with: 1)
      } else {
        nested.inner.addDependency(nested.outer)
      }
    } check: { nested, _ in
      nested.other.succeed(with: 2)
      score.note([nested.inner, nested.outer])
    }
    #expect(ended)
    score.expectNone("inner, dependency")
  }

  /// How each of two `mapToFuture`s comes by a descendant of the other.
  enum Crossing: CaseIterable, Sendable {
    case madeBefore
    case madeInTheClosure
    /// The `mapToFuture`s are released at the same time.
    case released
  }

  /// Two `mapToFuture`s, and a consumer of each.
  private final class Crossed: Sendable {
    let start = SpinBarrier(2)
    let round: Int
    let gates = [Promise<Int>(), Promise<Int>()]
    let outer: [Box<Future<Int>?>]
    let consumers: [Future<Int>]
    private let inner = [Box<Future<Int>?>(nil), Box<Future<Int>?>(nil)]

    init(_ round: Int, _ crossing: Crossing) {
      self.round = round
      let inner = inner
      let made = zip(gates, inner).map { gate, inner in
        gate.mapToFuture(on: .inline) { _ -> Future<Int> in
          let future = inner.value
          inner.value = nil
          guard let future else { return Promises.makeSucceeded(with: 0) }
          return crossing == .madeInTheClosure ? future.mapToValue(on: .inline) { $0 } : future
        }
      }
      for (index, other) in [made[1], made[0]].enumerated() {
        inner[index].value =
          crossing == .madeInTheClosure ? other : other.mapToValue(on: .inline) { $0 }
      }
      outer = made.map { Box($0) }
      consumers = made.map { $0.mapToValue(on: .inline) { $0 } }
    }
  }

  @Test(arguments: Crossing.allCases)
  func `two mapToFutures return each other's descendants: one fails with cycle, both settle`(
    _ crossing: Crossing
  ) async {
    let score = Score()
    let ended = await RaceHarness(threads: 2, rounds: rounds).run { round in
      Crossed(round, crossing)
    } act: { crossed, thread in
      crossed.start.meet(delay: delay(of: thread, in: crossed.round))
      crossed.gates[thread].succeed(with: 1)
      if crossing == .released { crossed.outer[thread].value = nil }
    } check: { crossed, _ in
      score.note(crossed.consumers)
    }
    #expect(ended)
    score.expectNone("mapToFutures, \(crossing)")
  }

  /// Promises in a row, the last before the first; and a consumer of each.
  private final class Ring: Sendable {
    /// Each thread has its promise and the next one.
    let ends: [Box<(Promise<Int>, Promise<Int>)?>]
    let consumers: [Future<Int>]
    init(of size: Int) {
      let promises = (0..<size).map { _ in Promise<Int>() }
      consumers = promises.map { $0.mapToValue(on: .inline) { $0 } }
      ends = promises.indices.map { Box((promises[$0], promises[($0 + 1) % size])) }
    }

    func link(_ index: Int) {
      guard let (promise, next) = ends[index].value else { return }
      promise.fulfill(from: next)
    }

    func release(_ index: Int) { ends[index].value = nil }
  }

  @Test(arguments: [2, 3, 4])
  func `promises settle like each other around a ring: one fails with cycle, all settle`(
    _ size: Int
  ) async {
    let score = Score()
    let ended = await RaceHarness(threads: size, rounds: rounds).run { _ in
      Ring(of: size)
    } act: { ring, thread in
      ring.link(thread)
    } check: { ring, _ in
      score.note(ring.consumers)
    }
    #expect(ended)
    score.expectNone("ring of \(size)")
  }

  @Test(arguments: [2, 3, 4])
  func `the same while the promises are released: all who wait for them settle`(
    _ size: Int
  ) async {
    let score = Score()
    let ended = await RaceHarness(threads: size, rounds: rounds).run { _ in
      Ring(of: size)
    } act: { ring, thread in
      ring.link(thread)
      ring.release(thread)
    } check: { ring, _ in
      // (A promise may be broken before the ring is closed.)
      score.note(ring.consumers, needsCycle: false)
    }
    #expect(ended)
    score.expectNone("released ring of \(size)")
  }
}
