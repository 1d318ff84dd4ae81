import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import TypedTasks

/// The time of explanations, records, shut-downs and the test support grows in proportion to
/// their size.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfDiagnosticsTests {
  /// A bound between 4 (proportional growth) and 16 (quadratic growth).
  private static let bound = 8.0
  /// How often an explanation that is quick is made.
  ///
  /// One alone takes a measurable time only for millions of futures, whose making then takes
  /// minutes.
  private static let explanations = 200

  /// Something of a size that is prepared, and the work on it that is measured.
  struct Measured: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let prepare: @Sendable (Int) -> () -> Void

    init(_ name: String, _ prepare: @escaping @Sendable (Int) -> () -> Void) {
      testDescription = name
      self.prepare = prepare
    }

    private struct Deaf: DiagnosticsObserver {}

    static let all: [Measured] = [
      Measured("the explanation of a wide join") { count in
        let promises = (0..<count).map { _ in Promise<Int>() }
        let all = Promises.collect(promises)
        return {
          for _ in 0..<explanations { precondition(all.explain().steps.count > 1) }
          precondition(!promises[0].isFulfilled)
        }
      },
      Measured("the explanation of a ladder") { count in
        let promise = Promise<Int>()
        var last: Future<Int> = promise
        for _ in 0..<count {
          let sides = (last.mapToValue(on: .inline) { $0 }, last.mapToValue(on: .inline) { $0 })
          last = Promises.combine(sides.0, sides.1).mapToValue(on: .inline) { $0.0 }
        }
        let ladder = last
        return { precondition(ladder.explain().steps.count > 1 && !promise.isFulfilled) }
      },
      Measured("the explanation of futures in a long queue") { count in
        let queue = OperationQueue()
        queue.isSuspended = true
        let futures = (0..<count).map { number in Promises.run(on: queue) { number } }
        let all = Promises.collect(futures)
        return {
          precondition(all.explain().steps.count > 1)
          queue.cancelAllOperations()
          queue.isSuspended = false
        }
      },
      Measured("the explanation of a request behind many others") { count in
        let permits = Permits(1)
        let futures = (0..<count).map { _ in permits.acquire() }
        return {
          for _ in 0..<explanations { precondition(futures[count - 1].explain().roots.count == 1) }
        }
      },
      Measured("pending promises, made and listed") { count in
        return {
          FuturesDiagnostics.install(Deaf(), configuration: .init(mainQueueLimit: nil))
          defer { FuturesDiagnostics.uninstall() }
          let promises = (0..<count).map { _ in Promise<Int>() }
          precondition(Promises.pending().count >= count)
          for promise in promises { promise.cancel() }
        }
      },
      Measured("operations of a queue that is shut down twice") { count in
        let queue = OperationQueue()
        queue.isSuspended = true
        for _ in 0..<count { queue.addOperation {} }
        return {
          queue.shutDown(within: .seconds(3600))
          precondition(queue.shutDown(within: .zero).isFulfilled)
          queue.isSuspended = false
        }
      },
      Measured("tasks and barriers of a task queue that is shut down") { count in
        let queue = TaskQueue(startSuspended: true)
        for number in 0..<count {
          queue.addTask(BlockProducerTask<Int, any Error> { _, finish in finish(.success(1)) })
          if number % 4 == 0 { queue.addBarrierBlock {} }
        }
        return {
          queue.shutDown(within: .seconds(3600))
          precondition(queue.shutDown(within: .zero).isFulfilled)
          queue.isSuspended = false
        }
      },
      Measured("closures of a manual context, in order") { count in
        let context = ManualContext()
        for _ in 0..<count { context.execute(BlockOperation {}) }
        return { precondition(context.runAll() == count) }
      },
      Measured("closures of a manual context, in any order") { count in
        let context = ManualContext()
        for _ in 0..<count { context.execute(BlockOperation {}) }
        var generator = SeededGenerator(seed: 1)
        return { precondition(context.runAll(using: &generator) == count) }
      },
      Measured("the Progress of a join whose inputs report and settle") { count in
        let promises = (0..<count).map { _ in Promise<Int>() }
        let progress = Promises.collect(promises).makeProgress()
        return {
          for promise in promises { promise.report(completed: 1, of: 2) }
          for promise in promises { promise.succeed(with: 1) }
          precondition(progress.isFinished)
        }
      },
      Measured("the Progress of a traversal") { count in
        let context = ManualContext()
        let all = Promises.traverse(0..<count, on: context, maxConcurrent: 8) { number in
          Promises.run(on: context) { number }
        }
        let progress = all.makeProgress()
        return {
          while !all.isSettled { context.runAll() }
          precondition(progress.isFinished)
        }
      },
      Measured("the Progress of a race whose inputs report and fail") { count in
        let promises = (0..<count).map { _ in Promise<Int>() }
        let progress = Promises.first(count / 4, of: promises).makeProgress()
        return {
          for promise in promises { promise.report(completed: 1, of: 2) }
          for promise in promises.dropFirst(count / 4) { promise.fail(with: TestError.first) }
          for promise in promises.prefix(count / 4) { promise.succeed(with: 1) }
          precondition(progress.isFinished)
        }
      },
      Measured("the Progress of a loop") { count in
        let context = ManualContext()
        let loop = Promises.loop(0, on: context) { turn in
          Promises.run(on: context) { turn < count ? .next(turn + 1) : LoopStep.done(turn) }
        }
        let progress = loop.makeProgress()
        return {
          while !loop.isSettled { context.runAll() }
          precondition(progress.isFinished)
        }
      },
      Measured("reports far upstream of a chain of operators") { count in
        let task = BlockProducerTask<Int, TestError> { _, finish in finish(.success(1)) }
        var end: ProducerTask<Int, TestError> = task
        for _ in 0..<count { end = end.map { $0 } }
        let progress = end.makeProgress()
        return {
          for step in 0..<count { task.report(completed: step, of: count) }
          task.cancel()
          withExtendedLifetime((progress, end)) {}
        }
      },
      Measured("sleepers of a manual clock that wake together") { count in
        let clock = ManualClock()
        for number in 0..<count { Task { try await clock.sleep(for: .seconds(number % 9 + 1)) } }
        while clock.sleeping < count { sched_yield() }
        return {
          clock.advance(by: .seconds(10))
          precondition(clock.sleeping == 0)
        }
      },
      Measured("events of a recorder, more than its limit") { count in
        let recorder = TraceRecorder(limit: count / 2)
        let context = ManualContext()
        for number in 0..<count { _ = Promises.run(on: context) { number } }
        return {
          recorder.start()
          context.runAll()
          recorder.stop()
          precondition(recorder.json.utf8.count > count)
        }
      },
    ]
  }

  @Test(arguments: Measured.all)
  func `it takes time in proportion`(_ measured: Measured) async throws {
    let ratio = try await SmallStackThread.running(within: .seconds(240)) {
      Growth.ratio(below: Self.bound) { size in measured.prepare(size) }
    }
    #expect(ratio < Self.bound)
  }
}
