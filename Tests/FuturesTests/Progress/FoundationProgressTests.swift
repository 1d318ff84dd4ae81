import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("Foundation's Progress", .timeLimit(.minutes(5)), .oneAtATime)
struct FoundationProgressTests {
  @Test func `it follows the reports, in the producer's units, and ends complete`() {
    let promise = Promise<Int>()
    let progress = promise.mapToValue(on: .inline) { $0 }.makeProgress()
    #expect(progress.isIndeterminate)
    promise.report(completed: 30, of: 120)
    #expect(progress.completedUnitCount == 30 && progress.totalUnitCount == 120)
    promise.succeed(with: 1)
    #expect(progress.isFinished && progress.fractionCompleted == 1)
    #expect(!promise.hasWaiters)
  }

  @Test func `a closure that the library runs reports: the progress changes before it returns`() {
    let promise = Promise<Int>()
    let progress = promise.mapToValue(on: .inline) { $0 }.makeProgress()
    let seen = Log<Double>()
    Promises.makeSucceeded(with: 2).onSuccess(on: .inline) { total in
      for completed in 1...total {
        promise.report(completed: completed, of: total)
        seen.append(progress.fractionCompleted)
      }
    }
    #expect(seen.entries == [0.5, 1])
    promise.succeed(with: 1)
  }

  @Test func `the mean of several futures is counted in millionths`() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let progress = Promises.collect(promises).makeProgress()
    promises[0].report(completed: 1, of: 2)
    #expect(progress.fractionCompleted == 0.25)
    #expect(progress.totalUnitCount == 1_000_000)
    promises[0].cancel()
    promises[1].cancel()
    #expect(!progress.isFinished)
  }

  @Test func `of many futures: the latest value comes soon, and the end at once`() async {
    let promises = (0..<1_000).map { _ in Promise<Int>() }
    let progress = Promises.collect(promises).makeProgress()
    for promise in promises.dropLast() { promise.succeed(with: 1) }
    #expect(await eventually { progress.completedUnitCount == 999_000 })
    promises[999].report(completed: 1, of: 2)
    #expect(await eventually { progress.completedUnitCount == 999_500 })
    promises[999].succeed(with: 1)
    #expect(progress.isFinished)
  }

  @Test func `a report returns although another thread reports on and on`() async {
    let promises = (0..<500).map { _ in Promise<Int>() }
    let progress = Promises.collect(promises).makeProgress()
    let (hasReturned, hasEnded) = (Event(), Event())
    let (begun, isRunning) = (Event(), Box(true))
    // (On threads of their own: a thread that reports on and on must not keep a pool's.)
    Thread.detachNewThread {
      var count = 0
      while isRunning.value {
        count += 1
        promises[0].report(completed: count, of: 1 << 40)
        begun.signal()
      }
      hasEnded.signal()
    }
    #expect(await begun.opened())
    Thread.detachNewThread {
      for count in 1...200 { promises[1].report(completed: count, of: 200) }
      hasReturned.signal()
    }
    #expect(await hasReturned.opened())
    isRunning.value = false
    #expect(await hasEnded.opened())
    #expect(await eventually { progress.completedUnitCount >= 2_000 })
    for promise in promises { promise.cancel() }
  }

  @Test func `it becomes a child of the current progress`() {
    let promise = Promise<Int>()
    let parent = Progress(totalUnitCount: 2)
    parent.becomeCurrent(withPendingUnitCount: 1)
    let child = promise.makeProgress()
    parent.resignCurrent()
    promise.report(completed: 1, of: 2)
    #expect(parent.fractionCompleted == 0.25)
    promise.succeed(with: 1)
    #expect(parent.fractionCompleted == 0.5)
    withExtendedLifetime(child) {}
  }

  @Test func `cancelling it cancels the future, and a cancelled future leaves it as it is`() async {
    let first = Promise<Int>()
    first.makeProgress().cancel()
    // Foundation on Linux calls the handler on another thread.
    #expect(await eventually { first.isCancelled })
    let second = Promise<Int>()
    let progress = second.makeProgress()
    second.report(completed: 1, of: 2)
    second.cancel()
    #expect(progress.fractionCompleted == 0.5 && !progress.isCancelled)
    progress.cancel()
  }

  @Test func `a future that has settled gives a progress that is over`() {
    #expect(Promises.makeSucceeded(with: 1).makeProgress().isFinished)
    let failed: Future<Int> = Promises.makeFailed(with: TestError.first)
    #expect(!failed.ignoreFailure().makeProgress().isFinished)
  }

  @Test func `a released progress leaves nothing, and keeps no promise`() {
    var promise: Promise<Int>? = Promise<Int>()
    var progress: Progress? = promise?.makeProgress()
    #expect(promise?.storage.progressWatches.count == 1)
    weak var released: Progress?
    released = progress
    progress = nil
    #expect(released == nil)
    #expect(promise?.storage.progressWatches.isEmpty == true)
    let kept = promise?.makeProgress()
    weak var weakPromise: Promise<Int>?
    weakPromise = promise
    promise = nil
    #expect(weakPromise == nil)
    kept?.cancel()
  }

  // MARK: From Foundation

  @Test func `a promise reports what a progress says`() {
    let promise = Promise<Int>()
    let progress = Progress(totalUnitCount: 8)
    progress.completedUnitCount = 2
    promise.report(from: progress)
    #expect(promise.currentProgress.completed == 2 && promise.currentProgress.total == 8)
    promise.cancel()
  }

  @Test func `the parts of a progress count`() {
    let promise = Promise<Int>()
    let progress = Progress(totalUnitCount: 2)
    let child = Progress(totalUnitCount: 4)
    progress.addChild(child, withPendingUnitCount: 1)
    child.completedUnitCount = 1
    promise.report(from: progress)
    #expect(promise.currentProgress.fractionCompleted == 0.125)
    promise.cancel()
  }

  @Test(arguments: [(0, 0), (5, -1), (-1, 5), (9, 3)] as [(Int64, Int64)])
  func `a hostile progress is clamped`(completed: Int64, total: Int64) {
    let promise = Promise<Int>()
    let progress = Progress(totalUnitCount: total)
    progress.completedUnitCount = completed
    promise.report(from: progress)
    #expect((0...1).contains(promise.currentProgress.fractionCompleted))
    promise.cancel()
  }

  @Test func `a progress with a negative count is reported as unknown`() {
    let (promise, progress) = (Promise<Int>(), Progress(totalUnitCount: 10))
    progress.completedUnitCount = -1
    #expect(progress.isIndeterminate)
    promise.report(completed: 1, of: 2)
    promise.report(from: progress)
    #expect(promise.currentProgress.isIndeterminate)
  }
}
