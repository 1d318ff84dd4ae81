import Foundation
import FuturesTestSupport
import Properations
import TestSupport

/// Permits, rates, batches, loads, retries and slots of queues, which several threads use.
///
/// What has a limit is given to a *leaf* only: a future that waits for none of the limits. So
/// no permit can wait for itself. All times are those of a clock that the test moves.
final class RestlessLimits: Sendable {
  private struct State {
    var promises: [Promise<Int>] = []
    var leaves: [Future<Int>] = [Promises.makeSucceeded(with: 0)]
    var others: [Future<Int>] = [Promises.makeSucceeded(with: 0)]
  }

  let clock = FuturesTestSupport.ManualClock()
  let permits: Permits
  let flight: SingleFlight<Int, Int>
  let taken = Counter()
  let released = Counter()
  let wide = OperationQueue()
  let tasks: TaskQueue
  private let serial = OperationQueue()
  private let limiter: RateLimiter
  private let budget = RetryBudget(ratio: 0.5)
  private let batcher: Batcher<Int, Int>
  private let tracker: LifetimeTracker
  private let state = TestLock(State())

  init(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
    self.tracker = tracker
    permits = Permits(Int.random(in: 1...2, using: &generator))
    flight = SingleFlight(
      timeToLive: Bool.random(using: &generator) ? .zero : .seconds(2),
      maxCount: Bool.random(using: &generator) ? 2 : .max, clock: clock)
    limiter = RateLimiter(
      permits: Int.random(in: 1...3, using: &generator), per: .seconds(1), clock: clock)
    serial.maxConcurrentOperationCount = 1
    wide.maxConcurrentOperationCount = Int.random(in: 1...3, using: &generator)
    tasks = TaskQueue(maxConcurrentTaskCount: 2)
    let kind = Int.random(in: 0..<4, using: &generator)
    batcher = Batcher(
      maxSize: Int.random(in: 1...4, using: &generator), maxDelay: .seconds(1), clock: clock,
      on: .inline
    ) { [clock] elements in
      switch kind {
      case 0: return Promises.makeSucceeded(with: elements)
      case 1:
        let pause: Future<Void> = Promises.delay(for: .milliseconds(300), clock: clock)
        return pause.mapToValue(on: .inline) { elements }
      case 2: throw TestError.first
      default: return Promises.async { elements }
      }
    }
  }

  /// The futures that have not settled.
  var pending: [Future<Int>] {
    state.withLock { $0.leaves + $0.others }.filter { !$0.isFulfilled }
  }

  /// Whether all permits, slots, loads and resources have come back.
  var isAtRest: Bool {
    permits.availableCount == permits.count && permits.waitingCount == 0
      && flight.loadingCount == 0 && wide.operationCount == 0 && tasks.taskCount == 0
      && taken.value == released.value
  }

  /// Settles all promises, and wants what is lazy.
  func settle(_ generator: inout SeededGenerator) {
    let (promises, others) = state.withLock { ($0.promises, $0.others) }
    for promise in promises { settle(promise, &generator) }
    for future in others { future.onCompletion(on: .inline) { _ in } }
    batcher.flush()
  }

  private func settle(_ promise: Promise<Int>, _ generator: inout SeededGenerator) {
    switch Int.random(in: 0..<3, using: &generator) {
    case 0: promise.succeed(with: 1)
    case 1: promise.fail(with: TestError.first)
    default: promise.cancel()
    }
  }

  private func leaf(_ generator: inout SeededGenerator) -> Future<Int> {
    state.withLock { $0.leaves.suffix(8).randomElement(using: &generator) ?? $0.leaves[0] }
  }

  private func any(_ generator: inout SeededGenerator) -> Future<Int> {
    let isLeaf = Bool.random(using: &generator)
    return isLeaf
      ? leaf(&generator)
      : state.withLock { $0.others.suffix(8).randomElement(using: &generator) ?? $0.others[0] }
  }

  private func context(_ generator: inout SeededGenerator) -> any ExecutionContext {
    Bool.random(using: &generator) ? InlineContext() : serial
  }

  func act(_ generator: inout SeededGenerator) {
    if Bool.random(using: &generator) {
      if let new = makeLeaf(&generator) { state.withLock { $0.leaves.append(new) } }
    } else if let new = makeOther(&generator) {
      state.withLock { $0.others.append(new) }
    }
  }

  private func makeLeaf(_ generator: inout SeededGenerator) -> Future<Int>? {
    let (source, on, object) = (leaf(&generator), context(&generator), tracker.make())
    let key = Int.random(in: 0..<3, using: &generator)
    switch Int.random(in: 0..<9, using: &generator) {
    case 0..<3:
      let promise = Promise<Int>()
      state.withLock { $0.promises.append(promise) }
      return promise
    case 3:
      let pause: Future<Void> = Promises.delay(for: .milliseconds(100 + 300 * key), clock: clock)
      return pause.mapToValue(on: .inline) { 1 }
    case 4, 5:
      return flight.load(key, forceRefresh: key == 0, on: on) {
        object.touch()
        return source
      }
    case 6: return limiter.acquire(for: key).mapToValue(on: .inline) { 1 }
    case 7: return batcher.add(key)
    default:
      let promise = state.withLock { $0.promises.randomElement(using: &generator) }
      if let promise { settle(promise, &generator) }
      return nil
    }
  }

  private func makeOther(_ generator: inout SeededGenerator) -> Future<Int>? {
    let (source, on, object) = (leaf(&generator), context(&generator), tracker.make())
    let (first, second) = (any(&generator), any(&generator))
    let count = Int.random(in: 1...4, using: &generator)
    let policy = RetryPolicy(
      attempts: count, delay: .constant(.milliseconds(200)),
      budget: count == 4 ? budget : nil, clock: clock)
    switch Int.random(in: 0..<22, using: &generator) {
    case 0, 1:
      return permits.withPermit(on: on) {
        object.touch()
        return source
      }
    case 2: return permits.withPermit { try await source.value }
    case 3:
      return Promises.retry(policy, on: on) { attempt in
        if attempt < 3 { throw TestError.second }
        return source
      }
    case 4:
      return Promises.async(retrying: policy) { attempt in
        if attempt < 2 { throw TestError.second }
        return try await first.value
      }
    case 5:
      return Promises.hedge(
        after: .milliseconds(300), budget: count == 1 ? budget : nil, clock: clock, on: on
      ) { $0 == 1 ? first : second }
    case 6:
      return Promises.first(count, of: [first, second, source], cancellingLosers: count == 1)
        .mapToValue(on: .inline) { $0.count }
    case 7: return Promises.select([first, second]).mapToValue(on: .inline) { $0.index }
    case 8:
      return Promises.collect([first, second, source], failingFast: count == 1)
        .mapToValue(on: .inline) { $0.count }
    case 9:
      return Promises.traverse(0..<5, on: on, maxConcurrent: count) { _ in source }
        .mapToValue(on: .inline) { $0.count }
    case 10:
      return Promises.loop(0, on: on) { turn in
        source.mapResult(on: .inline) { _ in .success(turn < 4 ? .next(turn + 1) : .done(turn)) }
      }
    case 11: return Promises.lazy(on: on) { first }
    case 12, 13:
      return wide.run(barrier: count == 1) {
        object.touch()
        return try await source.value
      }
    case 14:
      let resource = second.shielded().mapToValue(on: .inline) { [taken] value in
        taken.add()
        return value
      }
      return Promises.using(
        acquire: resource, shieldingAcquisition: true,
        release: { [released] _ in released.add() }, on: on
      ) { _ in source }
    case 15:
      let task = AsyncBlockProducerTask<Int, any Error> { _ in try await source.value }
      if count > 2 { task.addCondition(.rate(limiter, for: count)) }
      if count > 1 { task.addCondition(.mutuallyExclusive(RestlessLimits.self)) }
      task.addDependency(second)
      tasks.addTask(task)
      return task.mapToValue(on: .inline) { $0 }
    case 16: return first.timeout(after: .milliseconds(500), clock: clock)
    case 17: wide.addOperation { object.touch() }
    case 18: if count == 1 { wide.cancelAllOperations() }
    case 19: first.cancel()
    case 20: Task { for await _ in first.progressUpdates {} }
    default: _ = "\(first.explain()) \(first.debugTree)"
    }
    return nil
  }
}
