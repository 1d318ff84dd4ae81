import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("RateLimiter", .timeLimit(.minutes(5)), .oneAtATime)
struct RateLimiterTests {
  private let clock = ManualClock()

  /// Advances the clock when a timer runs.
  private func passTime(_ duration: Duration) async {
    #expect(await eventually { clock.sleeping > 0 })
    clock.advance(by: duration)
  }

  @Test func `a burst comes at once, then one permit after the other, in order`() async {
    let limiter = RateLimiter(permits: 2, per: .seconds(1), clock: clock)
    let order = Log<Int>()
    let futures = (0..<5).map { index in
      limiter.acquire().onSuccess(on: .inline) { order.append(index) }
    }
    #expect(futures.map(\.isFulfilled) == [true, true, false, false, false])
    #expect(limiter.waitingCount == 3)
    await passTime(.milliseconds(499))
    #expect(limiter.waitingCount == 3)
    await passTime(.milliseconds(1))
    #expect(await eventually { order.count == 3 })
    await passTime(.seconds(1))
    #expect(await eventually { order.entries == [0, 1, 2, 3, 4] })
    // After a pause, the burst is available again.
    clock.advance(by: .seconds(10))
    #expect((0..<3).map { _ in limiter.acquire().isFulfilled } == [true, true, false])
  }

  @Test func `the burst may be larger or smaller than the rate`() {
    let large = RateLimiter(permits: 1, per: .seconds(1), burst: 4, clock: clock)
    #expect((0..<5).map { _ in large.acquire().isFulfilled } == [true, true, true, true, false])
    for burst in [1, 0, -1, Int.min] {
      let small = RateLimiter(permits: 9, per: .seconds(1), burst: burst, clock: clock)
      #expect((0..<2).map { _ in small.acquire().isFulfilled } == [true, false])
    }
  }

  @Test(arguments: [0, -1, Int.min])
  func `less than one permit is one`(_ permits: Int) async {
    let limiter = RateLimiter(permits: permits, per: .seconds(1), clock: clock)
    #expect(limiter.acquire().isFulfilled)
    let second = limiter.acquire()
    #expect(!second.isFulfilled)
    await passTime(.seconds(1))
    #expect(await eventually { second.isFulfilled })
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func `a period that is no time is no limit`(_ period: Duration) {
    let limiter = RateLimiter(permits: 1, per: period, clock: clock)
    #expect((0..<1_000).allSatisfy { _ in limiter.acquire().isFulfilled })
  }

  @Test func `extreme numbers neither trap nor overflow`() async {
    let slow = RateLimiter(permits: 1, per: .seconds(Int64.max), burst: .max, clock: clock)
    #expect(slow.acquire().isFulfilled)
    let fast = RateLimiter(permits: .max, per: .nanoseconds(1), burst: .max, clock: clock)
    #expect((0..<100).allSatisfy { _ in fast.acquire().isFulfilled })
    let long = RateLimiter(permits: 1, per: .seconds(Int64.max), clock: clock)
    #expect(long.acquire().isFulfilled)
    let waiting = long.acquire()
    #expect(!waiting.isFulfilled)
    long.pause(for: .seconds(Int64.max))
    long.pause(for: .seconds(Int64.min))
    waiting.cancel()
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test func `a burst that takes more than a century to come back is given out whole`() {
    let daily = RateLimiter(permits: 1, per: .seconds(86_400), burst: 40_000, clock: clock)
    #expect((0..<40_000).allSatisfy { _ in daily.acquire().isFulfilled })
    let waiting = daily.acquire()
    #expect(!waiting.isFulfilled)
    waiting.cancel()
    let endless = RateLimiter(permits: 1, per: .seconds(Int64.max), burst: .max, clock: clock)
    #expect((0..<1_000).allSatisfy { _ in endless.acquire().isFulfilled })
  }

  @Test func `each key has a rate of its own`() {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    #expect(limiter.acquire().isFulfilled)
    #expect(limiter.acquire(for: "a").isFulfilled)
    #expect(limiter.acquire(for: "b").isFulfilled)
    #expect(limiter.acquire(for: 1).isFulfilled)
    #expect(!limiter.acquire(for: "a").isFulfilled)
    #expect(!limiter.acquire().isFulfilled)
  }

  @Test func `a future that is cancelled leaves the line and uses no permit`() async {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    _ = limiter.acquire()
    let (cancelled, next) = (limiter.acquire(), limiter.acquire())
    cancelled.cancel()
    await passTime(.seconds(1))
    #expect(await eventually { next.isFulfilled })
    let last = limiter.acquire()
    #expect(await eventually { clock.sleeping == 1 })
    last.mapToVoid().cancel()
    #expect(last.isCancelled && limiter.waitingCount == 0)
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test func `nothing is given out during a pause, and the longest pause counts`() async {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), burst: 3, clock: clock)
    limiter.pause(for: .seconds(10))
    limiter.pause(for: .seconds(5))
    limiter.pause(until: .now - .seconds(1))
    let futures = [limiter.acquire(), limiter.acquire(), limiter.acquire(for: "key")]
    #expect(futures.allSatisfy { !$0.isFulfilled })
    #expect(await eventually { clock.sleeping == 2 })
    clock.advance(by: .seconds(9))
    #expect(futures.allSatisfy { !$0.isFulfilled })
    clock.advance(by: .seconds(1))
    #expect(await eventually { futures.allSatisfy { $0.isFulfilled } })
  }

  @Test func `a pause that begins while futures wait holds them`() async {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    _ = limiter.acquire()
    let waiting = limiter.acquire()
    #expect(await eventually { clock.sleeping == 1 })
    limiter.pause(for: .seconds(3))
    clock.advance(by: .seconds(1))
    #expect(await eventually { clock.sleeps.count == 2 })
    #expect(!waiting.isFulfilled)
    await passTime(.seconds(2))
    #expect(await eventually { waiting.isFulfilled })
  }

  @Test func `handlers that ask for more while permits are given out`() async {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), burst: 2, clock: clock)
    let order = Log<Int>()
    for index in 0..<3 {
      limiter.acquire().onSuccess(on: .inline) {
        order.append(index)
        limiter.acquire().onSuccess(on: .inline) { order.append(index + 10) }
      }
    }
    for count in 3...6 {
      await passTime(.seconds(1))
      #expect(await eventually { order.count == count })
    }
    #expect(order.entries.sorted() == [0, 1, 2, 10, 11, 12])
  }

  @Test func `a clock that asks the limiter for the time of a pause is not locked out`() {
    let clock = UserClock()
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    let asked = Counter()
    clock.onNow.value = { asked.add(limiter.waitingCount + 1) }
    limiter.pause(for: .seconds(1))
    #expect(asked.value == 1)
    clock.onNow.value = nil
  }

  @Test func `a clock that throws fails those who wait under that key, and no others`() async {
    let clock = UserClock()
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    let first = limiter.acquire()
    let waiting = (0..<3).map { _ in limiter.acquire() }
    #expect(await eventually { clock.sleeping.value == 1 })
    clock.end.fail(with: TestError.first)
    for future in waiting {
      #expect(await future.completion.failureValue as? TestError == .first)
    }
    #expect(first.result?.isSuccess == true && limiter.waitingCount == 0)
    #expect(limiter.acquire(for: 1).isFulfilled)
    // The next request tries the clock again.
    #expect(await limiter.acquire().completion.failureValue as? TestError == .first)
  }

  @Test func `a clock that throws a cancellation cancels those who wait`() async {
    let clock = UserClock()
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    _ = limiter.acquire()
    let waiting = limiter.acquire()
    clock.end.fail(with: CancellationError())
    #expect(await waiting.completion.failureValue as? ProperationsError == .cancelled)
    #expect(limiter.waitingCount == 0)
  }

  @Test func `on a real clock no more come than the rate allows`() async throws {
    let limiter = RateLimiter(permits: 1, per: .milliseconds(10), burst: 1)
    let start = ContinuousClock.now
    for _ in 0..<6 { try await limiter.acquire().value }
    #expect(ContinuousClock.now - start >= .milliseconds(50))
  }

  @Test func `a limiter that nobody holds serves those who wait, then goes`() async throws {
    let isServed = Event()
    do {
      let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
      _ = limiter.acquire()
      limiter.acquire().onSuccess(on: .inline) { isServed.signal() }
    }
    await passTime(.seconds(1))
    #expect(await isServed.opened())
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test func `100,000 wait, half of them are cancelled, and the rest come a burst at a time`()
    async throws
  {
    let burst = 10_000
    let limiter = RateLimiter(permits: burst, per: .seconds(1), clock: clock)
    let count = Counter()
    let futures = (0..<100_000 + burst).map { _ in
      limiter.acquire().onSuccess(on: .inline) { count.add() }
    }
    #expect(count.value == burst && limiter.waitingCount == 100_000)
    for index in stride(from: burst, to: futures.count, by: 2) { futures[index].cancel() }
    #expect(limiter.waitingCount == 50_000)
    for second in 1...5 {
      await passTime(.seconds(1))
      #expect(await eventually { count.value == burst * (second + 1) })
    }
    #expect(limiter.waitingCount == 0)
  }

  @Test func `8 threads ask and cancel: each is served or cancelled`() async {
    let limiter = RateLimiter(permits: 1_000_000, per: .seconds(1), burst: 4)
    let open = Counter()
    let isDone = await RaceHarness(threads: 8, rounds: 1_000).run { _ in
      Box<Future<Void>?>(nil)
    } act: { shared, index in
      if index == 0 { shared.value?.cancel() }
      let future = limiter.acquire(for: index % 2)
      open.add()
      future.onCompletion(on: .inline) { _ in open.add(-1) }
      if index == 1 { shared.value = future } else if index == 2 { future.cancel() }
    }
    #expect(isDone)
    #expect(await eventually { open.value == 0 && limiter.waitingCount == 0 })
  }
}

@Suite("The machine of rates", .timeLimit(.minutes(5)), .oneAtATime)
struct RateMachineTests {
  private typealias Machine = RateMachine<Int, String>

  @Test func `a clock that is set back stands still, and goes on`() throws {
    let (clock, time) = steadyClock()
    var machine = Machine(interval: .seconds(1), burst: 1)
    time.value = .seconds(100)
    let first = machine.request("a", 0, now: clock.now)
    #expect(first.ticket == nil)
    time.value = .seconds(10)
    let (ticket, action) = machine.request("b", 0, now: clock.now)
    #expect(ticket != nil)
    #expect(action.timer?.delay == .seconds(1))
    let id = try #require(action.timer?.id)
    time.value = .seconds(11)
    let served = machine.timeIsUp(id, 0, now: clock.now)
    #expect(served.granted == ["b"])
  }

  @Test func `a clock that jumps far ahead, and one at the ends of time`() {
    let (clock, time) = steadyClock()
    var machine = Machine(interval: .seconds(1), burst: 2)
    let times: [Duration] = [
      .zero, Duration(attoseconds: .max), Duration(attoseconds: .min), .seconds(-5), .zero,
    ]
    for reading in times {
      time.value = reading
      _ = machine.request("a", 0, now: clock.now)
      machine.pause(for: .longest, now: clock.now)
    }
    // The jump ahead ended the pause before it. Each later request came during a pause.
    #expect(machine.waitingCount == 3)
  }

  private func steadyClock() -> (clock: SteadyClock, time: Box<Duration>) {
    let clock = UserClock()
    return (SteadyClock(clock), clock.time)
  }

  @Test func `a timer that is out of date does nothing`() throws {
    var machine = Machine(interval: .seconds(1), burst: 1)
    _ = machine.request("a", 0, now: .zero)
    let (ticket, action) = machine.request("b", 0, now: .zero)
    let id = try #require(action.timer?.id)
    let left = machine.leave(try #require(ticket), 0)
    #expect(left.member == "b")
    let served = machine.timeIsUp(id, 0, now: .seconds(5))
    #expect(served.granted.isEmpty)
    let timer = Promises.makeSucceeded()
    let isWanted = [machine.hasStarted(timer, id, 0), machine.hasStarted(timer, id, 7)]
    #expect(isWanted == [false, false])
  }

  @Test func `a timer that has failed empties its line once`() throws {
    var machine = Machine(interval: .seconds(1), burst: 1)
    _ = machine.request("a", 0, now: .zero)
    let (_, action) = machine.request("b", 0, now: .zero)
    _ = machine.request("c", 0, now: .zero)
    let id = try #require(action.timer?.id)
    let failed = [machine.timerHasFailed(id + 1, 0), machine.timerHasFailed(id, 0)]
    #expect(failed == [[], ["b", "c"]])
    let again = machine.timerHasFailed(id, 0)
    #expect(again.isEmpty && machine.waitingCount == 0)
    // The next member gets a timer of its own.
    let next = machine.request("d", 0, now: .zero)
    #expect(next.action.timer != nil)
  }

  @Test func `a timer that is out of date does not serve the next member of its line`() throws {
    var machine = Machine(interval: .seconds(1), burst: 1)
    _ = machine.request("a", 0, now: .zero)
    let (ticket, action) = machine.request("b", 0, now: .zero)
    let old = try #require(action.timer?.id)
    _ = machine.leave(try #require(ticket), 0)
    let new = try #require(machine.request("c", 0, now: .zero).action.timer?.id)
    let stale = machine.timeIsUp(old, 0, now: .seconds(5))
    #expect(stale.granted.isEmpty && stale.timer == nil)
    let served = machine.timeIsUp(new, 0, now: .seconds(5))
    #expect(served.granted == ["c"])
  }

  @Test func `a member that comes later does not overtake the line`() throws {
    var machine = Machine(interval: .seconds(1), burst: 1)
    _ = machine.request("a", 0, now: .zero)
    let (_, action) = machine.request("b", 0, now: .zero)
    // The timer is late.
    let late = machine.request("c", 0, now: .seconds(5))
    #expect(late.ticket != nil && late.action.granted.isEmpty)
    let id = try #require(action.timer?.id)
    let served = machine.timeIsUp(id, 0, now: .seconds(5))
    #expect(served.granted == ["b"])
  }

  @Test func `keys whose members wait for the end of a pause are kept`() {
    var machine = Machine(interval: .seconds(1), burst: 1)
    machine.pause(for: .seconds(100), now: .zero)
    for key in 0..<100 { _ = machine.request("a", key, now: .seconds(10)) }
    #expect(machine.waitingCount == 100)
  }

  @Test func `permits that come back are given to the next`() {
    var machine = Machine(interval: .seconds(1), burst: 1)
    _ = machine.request("a", 0, now: .zero)
    _ = machine.request("b", 0, now: .zero)
    let known = machine.giveBack(1, 0, now: .zero)
    let unknown = machine.giveBack(1, 7, now: .zero)
    #expect(known.granted == ["b"] && unknown.granted.isEmpty)
  }

  @Test func `the timer of a line is handed back when permits that come back make it useless`() {
    var machine = Machine(interval: .seconds(1), burst: 1)
    _ = machine.request("a", 0, now: .zero)
    let waiting = machine.request("b", 0, now: .zero)
    let timer = Promise<Void>()
    let isWanted = waiting.action.timer.map { machine.hasStarted(timer, $0.id, 0) }
    #expect(isWanted == true)
    let known = machine.giveBack(1, 0, now: .zero)
    #expect(known.granted == ["b"] && known.oldTimer === timer)
    timer.cancel()
  }

  @Test func `keys that are not in use take no memory`() {
    var machine = Machine(interval: .seconds(1), burst: 1)
    var most = 0
    for key in 0..<10_000 {
      _ = machine.request("a", key, now: .seconds(key))
      most = max(most, machine.bucketCount)
    }
    #expect(most < 40)
  }

  @Test func `a caller that has read the clock too early waits for no time that has passed`() {
    var machine = RateMachine<Int, String>(interval: .zero, burst: 1)
    let first = machine.request("first", 1, now: .seconds(11))
    let late = machine.request("late", 1, now: .seconds(10))
    #expect(first.ticket == nil && late.ticket == nil)
    #expect(late.action.granted == ["late"])
  }
}
