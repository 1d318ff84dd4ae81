import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

private struct Lost: Error, Equatable { var number = 0 }

/// What programs found that were written from the documentation alone.
@Suite("Findings of hostile programs", .timeLimit(.minutes(5)), .alone)
struct FindingsOfHostileProgramsTests {
  typealias Use = @Sendable (Promise<Int>) -> Void

  /// Uses a promise, fails it, uses it again, drops everything, and returns the reports.
  private func reports(
    before: @escaping Use = { _ in }, after: @escaping Use = { _ in }
  ) async throws -> [LostFailure] {
    try await DiagnosticsRecorder().recording {
      func run() {
        let promise = Promise<Int>()
        before(promise)
        promise.fail(with: Lost())
        after(promise)
      }
      run()
    }.failures
  }

  @Test("Handlers beside the one that gets the error lose nothing, whenever they were attached")
  func besideOnFailure() async throws {
    let uses: [(String, Use)] = [
      (
        "always beside",
        {
          $0.always(on: .inline) {}
          $0.onFailure(on: .inline) { _ in }
        }
      ),
      ("always behind", { $0.onFailure(on: .inline) { _ in }.always(on: .inline) {} }),
      (
        "onSuccess beside",
        {
          $0.onSuccess(on: .inline) { _ in }
          $0.onFailure(on: .inline) { _ in }
        }
      ),
      (
        "onSuccess and always behind each other",
        {
          $0.onSuccess(on: .inline) { _ in }.always(on: .inline) {}
          $0.onCompletion(on: .inline) { (_: FutureResult<Int>) in }
        }
      ),
    ]
    for (name, use) in uses {
      #expect(try await reports(before: use).isEmpty, "\(name), before")
      #expect(try await reports(after: use).isEmpty, "\(name), after")
    }
  }

  @Test("A failure that only handlers of other outcomes pass on: one report")
  func sharedFailure() async throws {
    let use: Use = { promise in
      promise.onSuccess(on: .inline) { _ in }.always(on: .inline) {}
      promise.always(on: .inline) {}
    }
    let before = try await reports(before: use)
    let after = try await reports(after: use)
    #expect(before.count == 1 && after.count == 1)
    let looks: [@Sendable (Future<Int>) -> Void] = [
      { _ = $0.error }, { $0.onFailure(on: .inline) { _ in } }, { $0.ignoreFailure() },
    ]
    for look in looks {
      #expect(try await reports(after: { look($0.always(on: .inline) {}) }).isEmpty)
    }
  }

  @Test("A consumer that was cancelled or decided before the failure has looked")
  func consumersThatLeft() async throws {
    let clock = ManualClock()
    let uses: [(String, Use)] = [
      ("a cancelled link", { $0.shielded().mapToValue(on: .inline) { $0 }.cancel() }),
      (
        "a shielded input of a race",
        {
          let quick = Promise<Int>()
          let race = Promises.race([$0.shielded(), quick])
          quick.succeed(with: 1)
          #expect(race.isFulfilled)
        }
      ),
      (
        "a cancelled handler of errors behind always",
        {
          let kept = $0.shielded()
          $0.always(on: .inline) {}.onFailure(on: .inline) { _ in }.cancel()
          kept.ignoreFailure()
        }
      ),
    ]
    for (name, use) in uses { #expect(try await reports(before: use).isEmpty, "\(name)") }
    let failures = try await DiagnosticsRecorder().recording {
      let promise = Promise<Int>()
      let limited = promise.shielded().timeout(after: .seconds(1), fallback: 5, clock: clock)
      clock.advance(by: try await clock.nextSleep().duration)
      #expect(try await limited.value == 5)
      promise.fail(with: Lost())
    }.failures
    #expect(failures.isEmpty)
  }

  @Test("A failure before the observer was installed is not reported when handlers pass it on")
  func passedOnLater() async throws {
    let promise = Promise<Int>()
    promise.fail(with: Lost())
    let failures = try await DiagnosticsRecorder().recording {
      func run() {
        promise.onSuccess(on: .inline) { _ in }
        promise.always(on: .inline) {}
      }
      run()
    }.failures
    #expect(failures.isEmpty)
    #expect(promise.error is Lost)
  }

  @Test("The error is the same while an observer is installed, through every kind of future")
  func errorsWhileObserved() async throws {
    _ = try await DiagnosticsRecorder().recording {
      let promise = Promise<Int>()
      let (one, other) = (Promise<Int>(), Promise<Int>())
      let either = (one || other).always(on: .inline) {}.onSuccess(on: .inline) { _ in }
      let passed = promise.always(on: .inline) {}.onCancel(on: .inline) {}
      promise.fail(with: Lost(number: 1))
      one.fail(with: Lost(number: 2))
      other.fail(with: Lost(number: 3))
      #expect(promise.error as? Lost == Lost(number: 1))
      #expect(passed.error as? Lost == Lost(number: 1))
      #expect(passed.mapToVoid().error as? Lost == Lost(number: 1))
      #expect(passed.description.contains("Lost(number: 1)"))
      guard case .multipleErrors(let errors) = either.error as? ProperationsError else {
        Issue.record("\(either)")
        return
      }
      #expect(errors.map { $0 as? Lost } == [Lost(number: 2), Lost(number: 3)])
    }
  }

  @Test("A settled promise that is to settle like a failed future: the report has its error")
  func settledAgainLikeFailure() async throws {
    let repeated = try await DiagnosticsRecorder().recording {
      let promise = Promise<Int>()
      promise.succeed(with: 1)
      promise.fulfill(from: Promises.makeFailed(with: Lost(number: 2)).ignoreFailure())
    }.repeated
    #expect(repeated.map { $0.secondError as? Lost } == [Lost(number: 2)])
  }

  /// Closures are measured after their futures have settled.
  private func finishAll(_ queue: OperationQueue) { queue.waitUntilAllOperationsAreFinished() }

  @Test("The report of a slow closure is one line, whatever the name of its queue is")
  func slowClosureOnNamedQueue() async throws {
    let queue = OperationQueue()
    queue.name = "two\nlines" + String(repeating: "x", count: 10_000)
    let slow = try await DiagnosticsRecorder()
      .recording(.init(mainQueueLimit: nil, slowClosureLimit: .zero)) {
        _ = try await Promises.run(on: queue) { 1 }.value
        finishAll(queue)
      }.slow
    let description = try #require(slow.first?.description)
    #expect(!description.contains(where: \.isNewline) && description.utf8.count < 400)
  }

  @Test("A retry that waits for its next attempt: the explanation names the caller's file only")
  func explainedPause() async throws {
    let policy = RetryPolicy(attempts: 2, delay: .constant(.seconds(1000)))
    let retry: Future<Int> = Promises.retry(policy, on: .inline) { _ in throw Lost() }
    let steps = retry.explain().steps
    #expect(steps.count > 1 && steps.allSatisfy { $0.createdAt.fileID == #fileID })
    retry.cancel()
  }

  @Test("A Progress that is read at long intervals goes when the promise settles or goes")
  func readProgress() async throws {
    for settles in [true, false] {
      let clock = ManualClock()
      try await expectReleased { leaks in
        let promise = Promise<Int>()
        promise.report(
          from: leaks.track(Progress(totalUnitCount: 1)), every: .seconds(86_400), clock: clock)
        if settles { promise.succeed(with: 1) }
      }
    }
    let promise = Promise<Int>()
    promise.succeed(with: 1)
    try await expectReleased { leaks in
      promise.report(from: leaks.track(Progress(totalUnitCount: 1)), every: .seconds(86_400))
    }
  }
}
