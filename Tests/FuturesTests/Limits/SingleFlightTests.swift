import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("SingleFlight", .timeLimit(.minutes(5)), .oneAtATime)
struct SingleFlightTests {
  private let clock = ManualClock()
  private let loads = Log<String>()

  /// Loads a key with a value that is available at once.
  private func load(
    _ key: String, _ value: Int, from flights: SingleFlight<String, Int>, forceRefresh: Bool = false
  ) -> Int? {
    flights.load(key, forceRefresh: forceRefresh, on: .inline) { [loads] in
      loads.append(key)
      return Promises.makeSucceeded(with: value)
    }.result?.successValue
  }

  @Test func `callers at the same time share a load, each with a future of its own`() {
    let flights = SingleFlight<String, Int>()
    let promises = ["a": Promise<Int>(), "b": Promise<Int>()]
    func load(_ key: String) -> Future<Int> {
      flights.load(key, on: .inline) { [loads] in
        loads.append(key)
        return promises[key] ?? Promise()
      }
    }
    let futures = [load("a"), load("a"), load("b")]
    #expect(futures[0] !== futures[1])
    #expect(loads.entries == ["a", "b"] && flights.loadingCount == 2)
    promises["a"]?.succeed(with: 1)
    #expect(futures.map { $0.result?.successValue } == [1, 1, nil])
    promises["b"]?.fail(with: TestError.first)
    #expect(futures[2].error as? TestError == .first)
    #expect(flights.loadingCount == 0)
    #expect(self.load("a", 2, from: flights) == 2)
    #expect(loads.entries == ["a", "b", "a"])
  }

  @Test func `a caller that leaves does not concern the others; the last cancels the load`() {
    let flights = SingleFlight<String, Int>()
    let first = Promise<Int>()
    let futures = (0..<3).map { _ in flights.load("a", on: .inline) { first } }
    futures[0].cancel()
    futures[1].mapToVoid().cancel()
    #expect(futures[1].isCancelled && !first.isFulfilled && !futures[2].isFulfilled)
    futures[2].cancel()
    #expect(first.isCancelled)
    #expect(flights.loadingCount == 0)
    #expect(load("a", 1, from: flights) == 1)
  }

  @Test func `values are kept for their time, failures and cancellations are not`() {
    let flights = SingleFlight<String, Int>(timeToLive: .seconds(10), clock: clock)
    #expect(load("a", 1, from: flights) == 1)
    clock.advance(by: .seconds(9))
    #expect(load("a", 2, from: flights) == 1)
    clock.advance(by: .seconds(1))
    #expect(load("a", 3, from: flights) == 3)
    #expect(loads.entries == ["a", "a"])
    for error in [TestError.first, CancellationError()] as [any Error] {
      let failed = flights.load("b", on: .inline) { throw error }
      #expect(failed.isFulfilled)
    }
    #expect(load("b", 4, from: flights) == 4)
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func `without a time, or a count, nothing is kept`(_ time: Duration) {
    let brief = SingleFlight<String, Int>(timeToLive: time, clock: clock)
    #expect(load("a", 1, from: brief) == 1 && load("a", 2, from: brief) == 2)
    for count in [0, -1, Int.min] {
      let small = SingleFlight<String, Int>(
        timeToLive: .seconds(1), maxCount: count, clock: clock)
      #expect(load("a", 1, from: small) == 1 && load("a", 2, from: small) == 2)
      #expect(small.keptCount == 0)
    }
  }

  @Test func `a refresh that is forced loads again, and joins a load that is under way`() {
    let flights = SingleFlight<String, Int>(timeToLive: .seconds(Int64.max), clock: clock)
    #expect(load("a", 1, from: flights) == 1)
    #expect(load("a", 2, from: flights, forceRefresh: true) == 2)
    #expect(load("a", 3, from: flights) == 2)
    let promise = Promise<Int>()
    let first = flights.load("a", forceRefresh: true, on: .inline) { promise }
    let second = flights.load("a", forceRefresh: true, on: .inline) { Promise() }
    let third = flights.load("a", on: .inline) { Promise() }
    promise.succeed(with: 4)
    #expect([first, second, third].allSatisfy { $0.result?.successValue == 4 })
  }

  @Test func `the value that was asked for least recently goes first`() {
    let flights = SingleFlight<String, Int>(
      timeToLive: .seconds(10), maxCount: 2, clock: clock)
    #expect(load("a", 1, from: flights) == 1 && load("b", 1, from: flights) == 1)
    #expect(load("a", 2, from: flights) == 1)
    #expect(load("c", 1, from: flights) == 1)
    #expect(flights.keptCount == 2)
    #expect(load("a", 3, from: flights) == 1)
    #expect(load("b", 4, from: flights) == 4)
    #expect(load("c", 5, from: flights) == 5)
  }

  @Test func `what is forgotten is loaded again, and a load under way is not kept`() {
    let flights = SingleFlight<String, Int>(timeToLive: .seconds(10), clock: clock)
    #expect(load("a", 1, from: flights) == 1)
    flights.removeValue(for: "a")
    flights.removeValue(for: "none")
    #expect(load("a", 2, from: flights) == 2)
    let promise = Promise<Int>()
    let loading = flights.load("b", on: .inline) { promise }
    flights.removeAll()
    promise.succeed(with: 3)
    #expect(loading.result?.successValue == 3)
    #expect(flights.keptCount == 0)
    #expect(load("a", 4, from: flights) == 4 && load("b", 5, from: flights) == 5)
  }

  @Test(arguments: [false, true])
  func `a caller after a removal begins a load of its own, and the earlier callers keep theirs`(
    isAll: Bool
  ) {
    let flights = SingleFlight<String, Int>(timeToLive: .seconds(10), clock: clock)
    let (old, new) = (Promise<Int>(), Promise<Int>())
    let first = flights.load("a", on: .inline) { old }
    let second = flights.load("a", on: .inline) { new }
    if isAll { flights.removeAll() } else { flights.removeValue(for: "a") }
    let third = flights.load("a", on: .inline) { new }
    #expect(flights.loadingCount == 2)
    second.cancel()
    new.succeed(with: 2)
    #expect(third.result?.successValue == 2)
    old.succeed(with: 1)
    #expect(first.result?.successValue == 1)
    #expect(load("a", 3, from: flights) == 2, "the value from before is not kept")
    #expect(flights.loadingCount == 0)
  }

  @Test func `the last caller from before a removal leaves: that load is cancelled`() {
    let flights = SingleFlight<String, Int>()
    let (old, new) = (Promise<Int>(), Promise<Int>())
    let first = flights.load("a", on: .inline) { old }
    flights.removeValue(for: "a")
    let second = flights.load("a", on: .inline) { new }
    first.cancel()
    #expect(old.isCancelled && !new.isCancelled)
    #expect(flights.loadingCount == 1)
    second.cancel()
    #expect(new.isCancelled)
    #expect(flights.loadingCount == 0)
  }

  @Test @MainActor func `without a context the closure runs on the main actor`() async throws {
    let flights = SingleFlight<String, Int>()
    var runs = 0
    let futures = (0..<2).map { _ in
      flights.load("a") {
        MainActor.preconditionIsolated()
        runs += 1
        return Promises.makeSucceeded(with: runs)
      }
    }
    for future in futures { #expect(try await future.value == 1) }
  }

  @Test func `a load that waits for its own key is a cycle, other keys are none`() {
    let flights = SingleFlight<String, Int>()
    let nested = flights.load("a", on: .inline) {
      flights.load("b", on: .inline) { Promises.makeSucceeded(with: 1) }
    }
    #expect(nested.result?.successValue == 1)
    let own = flights.load("a", on: .inline) { flights.load("a", on: .inline) { Promise() } }
    let ring = flights.load("b", on: .inline) {
      flights.load("c", on: .inline) { flights.load("b", on: .inline) { Promise() } }
    }
    for future in [own, ring] {
      guard case .cycle? = future.error as? ProperationsError else {
        Issue.record("\(future)")
        return
      }
    }
    #expect(flights.loadingCount == 0)
  }

  @Test func `a load that awaits its own key in a task is a cycle`() async {
    let flights = SingleFlight<String, Int>()
    @Sendable func load(_ key: String, _ needed: String...) -> Future<Int> {
      flights.load(key, on: .global()) {
        Promises.async {
          var sum = 1
          for other in needed { sum += try await load(other).value }
          return sum
        }
      }
    }
    let own = load("a", "b", "a")
    let ring = flights.load("c", on: .inline) {
      Promises.async { try await load("d", "e", "c").value }
    }
    for future in [own, ring] {
      guard case .cycle? = await future.completion.failureValue as? ProperationsError else {
        Issue.record("\(future)")
        return
      }
    }
    #expect(await eventually { flights.loadingCount == 0 })
    // The same key is no cycle after the load, or for another object.
    let others = SingleFlight<String, Int>()
    let other = flights.load("a", on: .inline) {
      Promises.async { try await others.load("a", on: .inline) { load("b") }.value }
    }
    #expect(await other.completion.successValue == 1)
  }

  @Test func `a task that a load has started requests the key after the load`() async {
    let flights = SingleFlight<String, Int>()
    let loaded = Promise<Void>()
    let late = Box<Future<Int>?>(nil)
    let first = flights.load("a", on: .inline) {
      late.value = Promises.async {
        try await loaded.value
        return try await flights.load("a", on: .inline) { Promises.makeSucceeded(with: 2) }.value
      }
      return Promises.makeSucceeded(with: 1)
    }
    #expect(first.result?.successValue == 1)
    loaded.succeed()
    #expect(await late.value?.completion.successValue == 2)
    late.value = nil
  }

  @Test func `a clock that is set back: values from before are loaded again`() {
    let clock = UserClock()
    let flight = SingleFlight<String, Int>(timeToLive: .seconds(10), clock: clock)
    let loads = Counter()
    func load() -> Int? {
      flight.load("a", on: .inline) {
        loads.add()
        return Promises.makeSucceeded(with: loads.value)
      }.result?.successValue
    }
    clock.time.value = .seconds(100)
    #expect(load() == 1)
    clock.time.value = .seconds(50)
    #expect(load() == 2 && load() == 2)
    clock.time.value = .seconds(59)
    #expect(load() == 2)
    clock.time.value = .seconds(60)
    #expect(load() == 3)
  }

  @Test func `a clock at the ends of time`() {
    let clock = UserClock()
    let flights = SingleFlight<Int, Int>(timeToLive: .seconds(1), clock: clock)
    let loads = Counter()
    for time in [Duration(attoseconds: .min), Duration(attoseconds: .max), .zero, .zero] {
      clock.time.value = time
      let future = flights.load(1, on: .inline) { Promises.makeSucceeded(with: loads.add()) }
      #expect(future.isFulfilled)
    }
    #expect(loads.value == 3)
  }

  @Test func `a load that is broken, or whose context drops it, fails its callers`() {
    let flights = SingleFlight<String, Int>(timeToLive: .seconds(10))
    let context = ManualContext()
    let futures = [
      flights.load("a", on: .inline) { Promise() }, flights.load("b", on: context) { Promise() },
    ]
    context.dropAll()
    for future in futures {
      guard case .brokenPromise? = future.error as? ProperationsError else {
        Issue.record("\(future)")
        return
      }
    }
    #expect(flights.loadingCount == 0)
  }

  @Test func `a handler that asks again finds the value, or begins a load after a failure`() {
    let flights = SingleFlight<String, Int>(timeToLive: .seconds(10), clock: clock)
    let promise = Promise<Int>()
    let first = flights.load("a", on: .inline) { promise }
    let again = first.mapToFuture(on: .inline) { _ in
      flights.load("a", on: .inline) { Promises.makeFailed(with: TestError.first) }
    }
    promise.succeed(with: 1)
    #expect(again.result?.successValue == 1)
    let failing = flights.load("b", on: .inline) { Promises.makeFailed(with: TestError.first) }
    let retried = failing.recoverToFuture(on: .inline) { _ in
      flights.load("b", on: .inline) { Promises.makeSucceeded(with: 2) }
    }
    #expect(retried.result?.successValue == 2)
  }

  @Test func `callers come and leave at the same time: a newcomer is never cancelled`() async {
    let flights = SingleFlight<Int, Int>()
    let (wrong, open) = (Counter(), Counter())
    let isDone = await RaceHarness(threads: 4, rounds: 3_000).run { round in
      (
        round,
        flights.load(round, on: .inline) {
          Promises.delay(for: .microseconds(10)).mapToValue(on: .inline) { 0 }
        }
      )
    } act: { subject, index in
      if index == 0 {
        subject.1.cancel()
      } else {
        open.add()
        flights.load(subject.0, on: .inline) {
          Promises.delay(for: .microseconds(10)).mapToValue(on: .inline) { 1 }
        }
        .onCompletion(on: .inline) { result in
          open.add(-1)
          if result.successValue == nil { wrong.add() }
        }
      }
    }
    #expect(isDone)
    #expect(await eventually { open.value == 0 && flights.loadingCount == 0 })
    #expect(wrong.value == 0)
  }

  @Test func `nothing is kept that was removed, replaced or had its time`() {
    let tracker = LifetimeTracker()
    let flights = SingleFlight<Int, Tracked>(
      timeToLive: .seconds(1), maxCount: 10, clock: clock)
    for key in 0..<100 {
      _ = flights.load(key, on: .inline) { Promises.makeSucceeded(with: tracker.make()) }
    }
    #expect(tracker.alive == 10)
    clock.advance(by: .seconds(1))
    _ = flights.load(99, on: .inline) { Promises.makeSucceeded(with: tracker.make()) }
    #expect(tracker.alive == 10)
    flights.removeAll()
    #expect(tracker.alive == 0)
  }

  @Test func `100,000 callers of one load need no stack, and leave it one by one`() async throws {
    for isCancelled in [false, true] {
      let sum = try await SmallStackThread.running(within: .seconds(240)) { () -> Int in
        let flights = SingleFlight<Int, Int>()
        let promise = Promise<Int>()
        let callers = (0..<100_000).map { _ in flights.load(1, on: .inline) { promise } }
        if isCancelled {
          for caller in callers { caller.cancel() }
          return promise.isCancelled ? callers.count { $0.isCancelled } : 0
        }
        promise.succeed(with: 1)
        return callers.reduce(0) { $0 + ($1.result?.successValue ?? 0) }
      }
      #expect(sum == 100_000)
    }
  }
}

@Suite("The machine of flights", .timeLimit(.minutes(5)), .oneAtATime)
struct FlightMachineTests {
  private typealias Machine = FlightMachine<String, Int>

  private func machine() -> Machine {
    Machine(kept: KeptValues(limit: 9, timeToLive: .seconds(10)))
  }

  @Test func `a flight that is over has no effect on the next one of its key`() {
    var machine = machine()
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let old = begin(first, &machine)
    #expect(machine.leave("a", old) === first)
    let new = begin(second, &machine)
    #expect(machine.leave("a", old) == nil)
    _ = machine.loaded(1, "a", old, now: .zero)
    #expect(machine.loadingCount == 1 && machine.kept.count == 0)
    _ = machine.loaded(2, "a", new, now: .zero)
    #expect(machine.loadingCount == 0 && machine.kept.count == 1)
  }

  @Test func `two callers that begin at once share the load of the first`() {
    var machine = machine()
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let begun = begin(first, &machine)
    guard case .flight(begun, let joined) = machine.begin(second, "a", now: .zero).known else {
      Issue.record("the second caller has begun a load of its own")
      return
    }
    #expect(joined === first)
    #expect(machine.leave("a", begun) == nil)
    #expect(machine.leave("a", begun) === first)
  }

  @Test func `a load that is over before another caller begins one: its value is used`() {
    var machine = machine()
    let looked = machine.look("a", isForced: false, now: .zero)
    #expect(looked.known == nil)
    let begun = begin(Promise<Int>(), &machine)
    _ = machine.loaded(1, "a", begun, now: .seconds(1))
    guard case .value(1) = machine.begin(Promise<Int>(), "a", now: .zero).known else {
      Issue.record("the value was loaded again")
      return
    }
  }

  @Test func `a caller whose time is before the load of the value: the value is used`() {
    var machine = machine()
    let begun = begin(Promise<Int>(), &machine)
    _ = machine.loaded(1, "a", begun, now: .seconds(1))
    guard case .value(1)? = machine.look("a", isForced: false, now: .zero).known else {
      Issue.record("the value was thrown away")
      return
    }
    #expect(machine.look("a", isForced: false, now: .seconds(12)).known == nil)
  }

  private func begin(_ load: Promise<Int>, _ machine: inout Machine) -> Int {
    guard case .flight(let number, load) = machine.begin(load, "a", now: .zero).known else {
      Issue.record("no load has begun")
      return 0
    }
    return number
  }
}

@Suite("Kept values", .timeLimit(.minutes(5)), .oneAtATime)
struct KeptValuesTests {
  @Test func `values whose time is up do not pile up`() {
    var kept = KeptValues<Int, Int>(limit: .max, timeToLive: .seconds(10))
    var most = 0
    for key in 0..<10_000 {
      _ = kept.insert(key, for: key, now: .seconds(key))
      most = max(most, kept.count)
    }
    #expect(most < 50)
  }

  @Test func `many values that were kept once do not slow down few values`() {
    func time(_ once: Int) -> Duration {
      var kept = KeptValues<Int, Int>(limit: .max, timeToLive: .seconds(10))
      for key in 0..<once { _ = kept.insert(key, for: key, now: .zero) }
      var key = once
      // The next sweep removes all of them.
      while kept.count >= once {
        _ = kept.insert(key, for: key, now: .seconds(100))
        key += 1
      }
      return ContinuousClock().measure {
        for step in 0..<20_000 {
          _ = kept.insert(key + step, for: key + step, now: .seconds(200 + 10 * step))
        }
      }
    }
    // (A busy machine may spoil a comparison, not all of them.)
    let isInProportion = (0..<10).contains { _ in
      let few = (0..<3).map { _ in time(1_000) }.min() ?? .zero
      let many = (0..<3).map { _ in time(30_000) }.min() ?? .zero
      return many < few * 12
    }
    #expect(isInProportion)
  }

  @Test func `a value that was kept later than now is not used`() {
    var kept = KeptValues<Int, Int>(limit: 9, timeToLive: .seconds(10))
    _ = kept.insert(1, for: 1, now: .seconds(100))
    let later = kept.value(for: 1, now: .seconds(99))
    #expect(later.value == nil && later.removed.count == 1)
    #expect(kept.count == 0)
  }

  @Test func `it agrees with a list of the keys in the order of their use`() {
    var generator = SeededGenerator(seed: 7)
    var kept = KeptValues<Int, Int>(limit: 5, timeToLive: .seconds(1))
    var model: [(key: Int, value: Int)] = []
    for step in 0..<20_000 {
      let key = Int.random(in: 0..<9, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        let value = kept.value(for: key, now: .zero).value
        let index = model.firstIndex { $0.key == key }
        #expect(value == index.map { model[$0].value })
        if let index { model.append(model.remove(at: index)) }
      case 1:
        _ = kept.removeValue(for: key)
        model.removeAll { $0.key == key }
      default:
        _ = kept.insert(step, for: key, now: .zero)
        model.removeAll { $0.key == key }
        if model.count == 5 { model.removeFirst() }
        model.append((key, step))
      }
      #expect(kept.count == model.count)
    }
  }
}
