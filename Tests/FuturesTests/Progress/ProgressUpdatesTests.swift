import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("progressUpdates", .timeLimit(.minutes(5)), .oneAtATime)
struct ProgressUpdatesTests {
  @Test func `a sequence begins with the present value and ends with 1`() async {
    let promise = Promise<Int>()
    promise.report(completed: 1, of: 2)
    var updates = promise.progressUpdates.makeAsyncIterator()
    #expect(await updates.next()?.fractionCompleted == 0.5)
    promise.report(completed: 3, of: 4)
    #expect(await updates.next()?.fractionCompleted == 0.75)
    promise.succeed(with: 1)
    let last = await updates.next()
    #expect(last?.fractionCompleted == 1)
    #expect(last?.completed == 4 && last?.total == 4)
    #expect(await updates.next() == nil)
    #expect(await updates.next() == nil)
  }

  @Test func `work whose future is released before the iteration begins: the end is told`() async {
    let mayEnd = Event()
    let updates = Promises.async { _ = await mayEnd.opened() }.progressUpdates
    mayEnd.signal()
    var last: FutureProgress?
    for await progress in updates { last = progress }
    #expect(last?.fractionCompleted == 1)
  }

  @Test func `a delay of a value that is there keeps the progress at 1`() {
    let (promise, clock) = (Promise<Int>(), ManualClock())
    let late = promise.delay(for: .seconds(10), clock: clock)
    promise.report(completed: 9, of: 10)
    #expect(late.currentProgress.fractionCompleted == 0.9)
    promise.succeed(with: 1)
    #expect(late.currentProgress.fractionCompleted == 1 && !late.currentProgress.isIndeterminate)
    late.cancel()
  }

  @Test func `a total that becomes unknown is told, and so is the next one`() async {
    let promise = Promise<Int>()
    var updates = promise.progressUpdates.makeAsyncIterator()
    promise.report(completed: 5, of: 10)
    #expect(await updates.next()?.fractionCompleted == 0.5)
    promise.report(completed: 6, of: 0)
    let unknown = await updates.next()
    #expect(unknown?.isIndeterminate == true && unknown?.completed == 6)
    promise.report(completed: 7, of: 0)
    #expect(await updates.next()?.completed == 7)
    promise.report(completed: 7, of: 70)
    #expect(await updates.next()?.fractionCompleted == 0.1)
    promise.succeed(with: 1)
  }

  @MainActor
  @Test func `an iterator that was copied serves two tasks: both end`() async {
    for round in 0..<3 {
      let promise = Promise<Int>()
      var iterator = promise.progressUpdates.makeAsyncIterator()
      _ = await iterator.next()
      let (copy, begun) = (iterator, Counter())
      let tasks = (0..<2).map { _ in
        Task { @MainActor in
          var own = copy
          begun.add()
          while await own.next(isolation: MainActor.shared) != nil {}
        }
      }
      #expect(await eventually { begun.value == 2 })
      if round == 0 { tasks[0].cancel() }
      promise.report(completed: 1, of: 2)
      if round == 1 { promise.fail(with: TestError.first) } else { promise.succeed(with: 1) }
      for task in tasks { await task.value }
    }
  }

  /// Calls a closure again and again on a thread of its own until it is released.
  private func repeating(_ body: @escaping @Sendable () -> Void) -> Registration {
    let isOver = Box(false)
    Thread { while !isOver.value { body() } }.start()
    return Registration { isOver.value = true }
  }

  @Test(arguments: [8, 2_000])
  func `elements that come and go faster than they are counted hold no reader up`(
    _ count: Int
  ) async {
    let open = Log<Promise<Void>>()
    let all = Promises.traverse(0..<Int.max / 2, on: .inline, maxConcurrent: count) { _ in
      let promise = Promise<Void>()
      open.append(promise)
      return promise
    }
    let churn = repeating { for promise in open.takeAll() { promise.succeed() } }
    let done = Event()
    Thread {
      // Follows from its beginning.
      withExtendedLifetime(all.makeProgress()) { done.signal() }
    }.start()
    #expect(await done.opened())
    // And in a handler, where inline closures wait for its end.
    let start = Promise<Int>()
    let handled = start.onSuccess(on: .inline) { _ in
      withExtendedLifetime(all.makeProgress()) {}
    }
    let returned = Event()
    Thread {
      start.succeed(with: 1)
      returned.signal()
    }.start()
    #expect(await returned.opened())
    _ = handled
    var updates = all.progressUpdates.makeAsyncIterator()
    for _ in 0..<3 { #expect(await updates.next() != nil) }
    churn.end()
    all.cancel()
  }

  @Test func `a slow consumer gets the newest value only`() async {
    let promise = Promise<Int>()
    var updates = promise.progressUpdates.makeAsyncIterator()
    #expect(await updates.next()?.isIndeterminate == true)
    for step in 1...1_000 { promise.report(completed: step, of: 1_000) }
    #expect(await updates.next()?.completed == 1_000)
    promise.fail(with: TestError.first)
    #expect(await updates.next() == nil)
  }

  @Test func `a failure and a cancellation end it without another value`() async {
    for ending in 0..<2 {
      let promise = Promise<Int>()
      let end = promise.mapToValue(on: .inline) { $0 }.ignoreFailure()
      var updates = end.progressUpdates.makeAsyncIterator()
      _ = await updates.next()
      if ending == 0 { promise.fail(with: TestError.first) } else { promise.cancel() }
      #expect(await updates.next() == nil)
    }
  }

  @Test func `a settled future gives one value if it has succeeded, and none otherwise`() async {
    var values: [Double] = []
    for await progress in Promises.makeSucceeded(with: 1).progressUpdates {
      values.append(progress.fractionCompleted)
    }
    #expect(values == [1])
    let failed: Future<Int> = Promises.makeFailed(with: TestError.first)
    for await _ in failed.progressUpdates { Issue.record("a value") }
  }

  @Test func `a task that waits is woken by reports far upstream`() async {
    let promise = Promise<Int>()
    let end = promise.mapToValue(on: .inline) { $0 }.mapToValue(on: .inline) { $0 }
    let seen = Log<Double>()
    let tasks = (0..<3).map { _ in
      Task { for await progress in end.progressUpdates { seen.append(progress.fractionCompleted) } }
    }
    #expect(await eventually { seen.entries.count == 3 })
    for step in 1...3 {
      promise.report(completed: step, of: 4)
      #expect(await eventually { seen.entries.count == 3 * (step + 1) })
    }
    promise.succeed(with: 1)
    for task in tasks { await task.value }
    #expect(seen.entries.count(where: { $0 == 1 }) == 3)
    #expect(promise.storage.progressWatches.isEmpty)
  }

  @Test func `a consumer follows from the source of mapToFuture to the inner future`() async {
    let (source, inner) = (Promise<Int>(), Promise<Int>())
    let context = HeldContext()
    let end = source.mapToFuture(on: context) { _ in inner }
    var updates = end.progressUpdates.makeAsyncIterator()
    #expect(await updates.next()?.isIndeterminate == true)
    source.succeed(with: 1)
    #expect(await updates.next()?.fractionCompleted == 0.5)
    context.runAll()
    inner.report(completed: 1, of: 2)
    #expect(await updates.next()?.fractionCompleted == 0.75)
    inner.succeed(with: 1)
    #expect(await updates.next()?.fractionCompleted == 1)
    #expect(await updates.next() == nil)
  }

  @Test func `a waiting consumer learns of reports of an inner future`() async {
    let (source, inner) = (Promise<Int>(), Promise<Int>())
    let context = HeldContext()
    let end = source.mapToFuture(on: context) { _ in inner }
    let seen = Log<Double>()
    let task = Task {
      for await progress in end.progressUpdates { seen.append(progress.fractionCompleted) }
    }
    #expect(await eventually { seen.entries == [0] })
    source.succeed(with: 1)
    #expect(await eventually { seen.entries == [0, 0.5] })
    context.runAll()
    inner.report(completed: 1, of: 2)
    #expect(await eventually { seen.entries == [0, 0.5, 0.75] })
    inner.succeed(with: 1)
    await task.value
    #expect(seen.entries == [0, 0.5, 0.75, 1])
  }

  @Test func `a consumer of a join learns of each input, and of one that is cancelled midway`()
    async
  {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let other = promises[2].mapToValue(on: .inline) { $0 }
    let link = promises[2].mapToValue(on: .inline) { $0 }
    let all = Promises.collectResults([promises[0], promises[1], link])
    let seen = Log<Int>()
    let task = Task {
      for await progress in all.progressUpdates {
        seen.append(Int((progress.fractionCompleted * 6).rounded()))
      }
    }
    #expect(await eventually { seen.entries == [0] })
    promises[0].report(completed: 1, of: 2)
    #expect(await eventually { seen.entries == [0, 1] })
    promises[1].succeed(with: 1)
    #expect(await eventually { seen.entries == [0, 1, 3] })
    link.cancel()
    #expect(await eventually { seen.entries == [0, 1, 3, 5] })
    promises[0].succeed(with: 1)
    await task.value
    #expect(seen.entries == [0, 1, 3, 5, 6])
    withExtendedLifetime(other) {}
  }

  @Test func `a corrected total may lower the fraction, and a lower fraction is not delivered`()
    async
  {
    let promise = Promise<Int>()
    var updates = promise.progressUpdates.makeAsyncIterator()
    promise.report(completed: 50, of: 100)
    #expect(await updates.next()?.fractionCompleted == 0.5)
    promise.report(completed: 50, of: 200)
    #expect(await updates.next()?.fractionCompleted == 0.25)
    promise.report(completed: 10, of: 200)
    promise.cancel()
    #expect(await updates.next() == nil)
  }

  @Test func `a recovery that begins anew is silent until it is further`() async {
    let (source, second) = (Promise<Int>(), Promise<Int>())
    let end = source.recoverToFuture(on: .inline) { _ in second }
    var updates = end.progressUpdates.makeAsyncIterator()
    source.report(completed: 1, of: 2)
    #expect(await updates.next()?.fractionCompleted == 0.5)
    source.fail(with: TestError.first)
    second.report(completed: 1, of: 2)
    #expect(end.currentProgress.fractionCompleted == 0.5)
    second.report(completed: 3, of: 4)
    #expect(await updates.next()?.fractionCompleted == 0.75)
    second.succeed(with: 1)
    #expect(await updates.next()?.fractionCompleted == 1)
  }

  @Test func `another producer with another total has corrected none: the fraction stays`() async {
    let (source, second) = (Promise<Int>(), Promise<Int>())
    let end = source.recoverToFuture(on: .inline) { _ in second }
    var updates = end.progressUpdates.makeAsyncIterator()
    let progress = end.makeProgress()
    source.report(completed: 90, of: 100)
    #expect(await updates.next()?.fractionCompleted == 0.9)
    source.fail(with: TestError.first)
    second.report(completed: 10, of: 50)
    #expect(end.currentProgress.completed == 10 && progress.fractionCompleted == 0.9)
    second.report(completed: 48, of: 50)
    #expect(await updates.next()?.completed == 48)
    #expect(progress.completedUnitCount == 48 && progress.totalUnitCount == 50)
    second.report(completed: 48, of: 100)
    #expect(await updates.next()?.fractionCompleted == 0.48, "this one has corrected its total")
    second.succeed(with: 1)
    #expect(await updates.next()?.fractionCompleted == 1)
  }

  @Test func `a fraction that falls is not delivered`() async {
    let (source, second) = (Promise<Int>(), Promise<Int>())
    let end = source.recoverToFuture(on: .inline) { _ in second }
    let seen = Log<Double>()
    let task = Task {
      for await progress in end.progressUpdates { seen.append(progress.fractionCompleted) }
    }
    #expect(await eventually { seen.entries == [0] })
    source.report(completed: 3, of: 4)
    #expect(await eventually { seen.entries == [0, 0.75] })
    source.fail(with: TestError.first)
    second.report(completed: 2, of: 4)
    #expect(await eventually { !second.storage.progressWatches.isEmpty })
    second.succeed(with: 1)
    await task.value
    #expect(seen.entries == [0, 0.75, 1])
  }

  // MARK: Leaving

  @Test func `a cancelled consumer ends and leaves nothing, and the future goes on`() async {
    let promise = Promise<Int>()
    let end = promise.mapToValue(on: .inline) { $0 }
    let seen = Counter()
    let task = Task { for await _ in end.progressUpdates { seen.add() } }
    #expect(await eventually { seen.value == 1 })
    #expect(await eventually { !promise.storage.progressWatches.isEmpty })
    task.cancel()
    await task.value
    #expect(promise.storage.progressWatches.isEmpty)
    #expect(!end.hasWaiters)
    #expect(!promise.isFulfilled)
    promise.succeed(with: 1)
  }

  @Test func `a task that is cancelled before it iterates gets nothing`() async {
    let promise = Promise<Int>()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      var count = 0
      for await _ in promise.progressUpdates { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value == 0)
    #expect(!promise.hasWaiters)
  }

  @Test func `leaving the loop early leaves nothing`() async {
    let promise = Promise<Int>()
    for await _ in promise.progressUpdates { break }
    #expect(!promise.hasWaiters)
    #expect(promise.storage.progressWatches.isEmpty)
    _ = promise.progressUpdates
    #expect(!promise.hasWaiters)
  }

  @Test func `a sequence keeps no promise, and a promise that is dropped ends it`() async {
    var promise: Promise<Int>? = Promise<Int>()
    let updates = promise!.progressUpdates
    var iterator = updates.makeAsyncIterator()
    _ = await iterator.next()
    weak var kept: Promise<Int>?
    kept = promise
    promise = nil
    #expect(kept == nil)
    #expect(await iterator.next() == nil)
    var late = updates.makeAsyncIterator()
    #expect(await late.next() == nil)
  }

  @Test func `watching keeps no work alive that its last consumer has left`() async {
    let promise = Promise<Int>()
    let end = promise.mapToValue(on: .inline) { $0 }
    var updates = promise.progressUpdates.makeAsyncIterator()
    _ = await updates.next()
    end.cancel()
    #expect(promise.isCancelled)
    #expect(await updates.next() == nil)
  }

  @Test func `watching starts no lazy future`() async {
    let starts = Counter()
    let lazy = Promises.lazy(on: .inline) { () -> Future<Int> in
      starts.add()
      return Promises.makeSucceeded(with: 1)
    }
    var updates = lazy.progressUpdates.makeAsyncIterator()
    #expect(await updates.next()?.isIndeterminate == true)
    #expect(starts.value == 0)
    lazy.onSuccess(on: .inline) { _ in }
    #expect(await updates.next()?.fractionCompleted == 1)
  }

  @Test func `a closure may report, read and iterate while its future settles`() async {
    let promise = Promise<Int>()
    let seen = Log<Double>()
    promise.onSuccess(on: .inline) { _ in
      promise.report(completed: 1, of: 2)
      seen.append(promise.currentProgress.fractionCompleted)
    }
    promise.succeed(with: 1)
    #expect(seen.entries == [1])
  }

  @Test(arguments: 0..<20)
  func `racing reports end in the largest value, and then in 1`(seed: Int) async {
    var generator = SeededGenerator(seed: UInt64(seed))
    let promises = (0..<3).map { _ in Promise<Int>() }
    let all = Promises.collect(promises).mapToFuture(on: .inline) { _ in
      Promises.makeSucceeded(with: 1)
    }
    let orders = promises.map { _ in (1...50).shuffled(using: &generator) }
    let task = Task {
      var seen: [Double] = []
      for await progress in all.progressUpdates { seen.append(progress.fractionCompleted) }
      return seen
    }
    await withTaskGroup { group in
      for (promise, order) in zip(promises, orders) {
        group.addTask {
          for step in order { promise.report(completed: step, of: 50) }
          promise.succeed(with: 1)
        }
      }
    }
    let seen = await task.value
    #expect(seen.last == 1)
    #expect(seen == seen.sorted())
    #expect(Set(seen).count == seen.count)
  }

  @Test func `a promise that was linked and dropped still tells the end of the other one`()
    async throws
  {
    for isLinkedFirst in [true, false] {
      var source: Promise<Int>? = Promise<Int>()
      var target: Promise<Int>? = Promise<Int>()
      if isLinkedFirst { target?.fulfill(from: try #require(source)) }
      var updates = try #require(target?.progressUpdates).makeAsyncIterator()
      #expect(await updates.next()?.isIndeterminate == true)
      if !isLinkedFirst { target?.fulfill(from: try #require(source)) }
      source?.report(completed: 1, of: 4)
      #expect(await updates.next()?.completed == 1)
      target = nil
      source?.report(completed: 2, of: 4)
      #expect(await updates.next()?.completed == 2)
      source?.succeed(with: 1)
      source = nil
      #expect(await updates.next()?.fractionCompleted == 1)
      #expect(await updates.next() == nil)
    }
  }

  @Test func `a promise that settles and goes while it is read still tells the end`() async throws {
    let held = Box<Promise<Int>?>(Promise<Int>())
    let source = SourceThatActs {
      held.value?.succeed(with: 1)
      held.value = nil
    }
    _ = held.value?.storage.wait(for: .source(source))
    var updates = try #require(held.value?.progressUpdates).makeAsyncIterator()
    #expect(await updates.next()?.fractionCompleted == 1)
    #expect(await updates.next() == nil)
  }
}

/// A context that runs its closures when told to.
private final class HeldContext: ExecutionContext {
  private let held = Log<Operation>()
  private let done = Counter()

  func execute(_ operation: Operation) { held.append(operation) }

  func runAll() {
    while done.value < held.entries.count {
      let operation = held.entries[done.value]
      done.add()
      operation.start()
    }
  }
}

/// A source of a future that does something when its progress is read.
private final class SourceThatActs: CallbackWaiter, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let act: @Sendable () -> Void

  init(_ act: @escaping @Sendable () -> Void) { self.act = act }

  override var progressParts: ProgressParts? {
    act()
    return nil
  }
}
