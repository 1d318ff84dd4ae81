import Foundation
import Futures
import TestSupport
import Testing

/// How many rounds each race has.
///
/// `PROPERATIONS_RACE_ROUNDS` makes them more or fewer.
private let rounds =
  ProcessInfo.processInfo.environment["PROPERATIONS_RACE_ROUNDS"].flatMap { Int($0) } ?? 12_000

/// A cancellation reaches the last future of a row of linked promises, also if promises
/// between are released at that moment.
@Suite(
  "Linked promises that are cancelled and released at once", .timeLimit(.minutes(5)), .oneAtATime)
struct BypassRaceTests {
  /// A row of promises: first ──▶ links ──▶ last.
  private final class Row: Sendable {
    let start: SpinBarrier
    let first: Box<Promise<Int>?>
    let links: [Box<Promise<Int>?>]
    let last = Promise<Int>()

    init(of count: Int) {
      start = SpinBarrier(count + 1)
      let promises = (0...count).map { _ in Promise<Int>() }
      for (promise, next) in zip(promises, promises.dropFirst() + [last]) {
        promise.fulfill(from: next)
      }
      first = Box(promises[0])
      links = promises.dropFirst().map { Box($0) }
    }

    func cancel(releasing: Bool) {
      first.value?.cancel()
      if releasing { first.value = nil }
    }
  }

  @Test(arguments: [1, 2, 3], [false, true])
  func `the first is cancelled while the others are released: the last is cancelled`(
    _ count: Int, _ isReleased: Bool
  ) async {
    let lost = Counter()
    let ended = await RaceHarness(threads: count + 1, rounds: rounds).run { _ in
      Row(of: count)
    } act: { row, thread in
      row.start.meet()
      if thread == 0 {
        row.cancel(releasing: isReleased)
      } else {
        row.links[thread - 1].value = nil
      }
    } check: { row, _ in
      if !row.last.isCancelled { lost.add() }
    }
    #expect(ended)
    #expect(lost.value == 0)
  }

  /// A consumer of the first promise.
  enum Consumer: CaseIterable, Sendable {
    case link, join, race, traversal, loop, retry, load, batch, use

    func make(of future: Future<Int>) -> AnyFuture {
      switch self {
      case .link: return future.mapToValue(on: .inline) { $0 }
      case .join: return Promises.collect([future])
      case .race: return Promises.race([future])
      // The closure keeps the future no longer than the call.
      case .traversal:
        let future = Box<Future<Int>?>(future)
        return Promises.traverse([1], on: .inline) { _ in future.taken }
      case .loop:
        let future = Box<Future<Int>?>(future)
        return Promises.loop(0, on: .inline) { _ in
          future.taken.mapToValue(on: .inline) { LoopStep<Int, Int>.done($0) }
        }
      case .retry:
        let future = Box<Future<Int>?>(future)
        return Promises.retry(attempts: 2, on: .inline) { _ in future.taken }
      case .load:
        let future = Box<Future<Int>?>(future)
        return SingleFlight<Int, Int>().load(1, on: .inline) { future.taken }
      case .batch:
        let future = Box<Future<Int>?>(future)
        return Batcher<Int, Int>(maxSize: 1, maxDelay: .zero, on: .inline) { _ in
          future.taken.mapToValue(on: .inline) { [$0] }
        }.add(1)
      case .use:
        let future = Box<Future<Int>?>(future)
        return Promises.using(
          acquire: Promises.makeSucceeded(with: 1), release: { _ in }, on: .inline
        ) { _ in future.taken }
      }
    }
  }

  @Test(arguments: Consumer.allCases)
  func `a consumer is cancelled while the others are released: the last is cancelled`(
    _ kind: Consumer
  ) async {
    let lost = Counter()
    let ended = await RaceHarness(threads: 3, rounds: rounds / 3).run { _ in
      let row = Row(of: 2)
      let consumer = kind.make(of: row.first.value!)
      row.first.value = nil
      return (row, consumer)
    } act: { subject, thread in
      let (row, consumer) = subject
      row.start.meet()
      if thread == 0 { consumer.cancel() } else { row.links[thread - 1].value = nil }
    } check: { subject, _ in
      if !subject.0.last.isCancelled { lost.add() }
    }
    #expect(ended)
    #expect(lost.value == 0)
  }

  @Test func `a shielded consumer is cancelled while a promise is released: the last stays`() async
  {
    let lost = Counter()
    let ended = await RaceHarness(threads: 2, rounds: rounds).run { _ in
      let row = Row(of: 1)
      let consumer = row.first.value!.shielded()
      row.first.value = nil
      return (row, consumer)
    } act: { subject, thread in
      let (row, consumer) = subject
      row.start.meet()
      if thread == 0 { consumer.cancel() } else { row.links[0].value = nil }
    } check: { subject, _ in
      if subject.0.last.isFulfilled { lost.add() }
    }
    #expect(ended)
    #expect(lost.value == 0)
  }
}

extension Box where Value == Future<Int>? {
  /// The value of a box that is used once, which the box gives away.
  fileprivate var taken: Future<Int> {
    defer { value = nil }
    return value!
  }
}
