import Foundation
import Futures
import TestSupport
import Testing

private struct Failed: Error {}

@Suite("Diagnostics observers", .timeLimit(.minutes(5)), .alone)
struct DiagnosticsObserverTests {
  private struct Deaf: DiagnosticsObserver {}

  @Test("Installing an observer returns the former one, and so does taking it away")
  func former() {
    let first = DiagnosticsRecorder()
    #expect(FuturesDiagnostics.install(first) == nil)
    #expect(FuturesDiagnostics.install(Deaf()) as? DiagnosticsRecorder === first)
    #expect(FuturesDiagnostics.uninstall() is Deaf)
    #expect(FuturesDiagnostics.uninstall() == nil)
  }

  @Test("A dropped promise is reported with its place, whether a future waits for it or not")
  func broken() async throws {
    let line: UInt = #line + 3
    let reports = try await DiagnosticsRecorder().recording {
      func run() {
        _ = Promise<Int>(name: "a")
        _ = Promise<Int>(name: "b").recover(on: .inline) { _ in 0 }
        _ = Promises.withResolver(promising: Int.self) { _ in }.recover(on: .inline) { _ in 0 }
      }
      run()
    }
    #expect(reports.broken.map(\.createdAt.line) == [Int(line), Int(line) + 1, Int(line) + 2])
    #expect(reports.broken.map(\.name) == ["a", "b", nil])
    #expect(reports.failures.count <= 1)
    #expect(reports.broken[0].description.contains("settle it on every path"))
  }

  @Test("A promise that was settled, linked or never started is not broken")
  func unbroken() async throws {
    let reports = try await DiagnosticsRecorder().recording {
      func run() {
        Promise<Int>().succeed(with: 1)
        Promise<Int>().cancel()
        let source = Promise<Int>()
        _ = source.mapToFuture(on: .inline) { Promises.makeSucceeded(with: $0) }
        do {
          let target = Promise<Int>()
          target.fulfill(from: source)
        }
        source.succeed(with: 1)
        _ = Promises.lazy(on: .inline) { Promises.makeSucceeded(with: 1) }
      }
      run()
    }
    #expect(reports.broken.isEmpty)
  }

  @Test("A promise that is settled twice is reported with its place and the second call")
  func settledTwice() async throws {
    let line: UInt = #line + 3
    let reports = try await DiagnosticsRecorder().recording {
      func run() {
        let promise = Promise<Int>(name: "twice")
        promise.succeed(with: 1)
        #expect(!promise.fail(with: Failed()))
        #expect(!promise.succeed(with: 2))
        #expect(!promise.fulfill(with: .success(3)))
        _ = Promises.withResolver(promising: Int.self) { resolver in
          resolver.succeed(with: 1)
          #expect(!resolver.succeed(with: 2))
        }
      }
      run()
    }
    #expect(
      reports.repeated.map(\.createdAt.line)
        == [Int(line), Int(line), Int(line), Int(line) + 5])
    let first = try #require(reports.repeated.first)
    #expect(first.name == "twice")
    #expect(first.firstError == nil)
    #expect(first.secondError is Failed)
    #expect(!first.secondCallStack.isEmpty)
    #expect(first.description.contains("which had no effect"))
  }

  @Test("Settling a cancelled promise, and cancelling a settled one, are not reported")
  func cancelled() async throws {
    let reports = try await DiagnosticsRecorder().recording {
      let promise = Promise<Int>()
      promise.cancel()
      promise.succeed(with: 1)
      let other = Promise<Int>()
      other.succeed(with: 1)
      other.cancel()
      other.fail(with: CancellationError())
    }
    #expect(reports.repeated.isEmpty)
  }

  @Test("The observer may lose failures, wait, settle and install another observer")
  func reentrant() async throws {
    let second = DiagnosticsRecorder()
    let promise = Promise<Int>()
    let first = DiagnosticsRecorder { report in
      guard report.error is Failed else { return }
      FuturesDiagnostics.install(second)
      _ = try? Promises.run(on: .global()) { 1 }.wait()
      func lose() { _ = Promises.makeFailed(with: TestError.second, promising: Int.self) }
      lose()
      promise.succeed(with: 1)
    }
    FuturesDiagnostics.install(first)
    defer { FuturesDiagnostics.uninstall() }
    func lose() { _ = Promises.makeFailed(with: Failed(), promising: Int.self) }
    lose()
    #expect(try await promise.value == 1)
    // The second observer is installed now.
    await second.catchUp()
    #expect(first.reports.failures.count == 1)
    #expect(second.reports.failures.map { $0.error as? TestError } == [.second])
  }

  @Test("A million failures at once do not fill the memory: the observer hears how many were lost")
  func flood() async throws {
    let count = 30_000
    let gate = Event()
    let observer = DiagnosticsRecorder { _ in gate.wait() }
    let reports = try await observer.recording {
      func run() {
        for _ in 0..<count { _ = Promises.makeFailed(with: Failed(), promising: Int.self) }
      }
      run()
      gate.signal()
      await observer.catchUp()
    }
    #expect(reports.failures.count < count)
    #expect(reports.dropped > 0)
    #expect(reports.failures.count + reports.dropped >= count)
  }

  @Test("A failed chain of 100,000 futures is released and reported on a small stack")
  func deep() async throws {
    let reports = try await DiagnosticsRecorder().recording {
      try await SmallStackThread.running {
        let promise = Promise<Int>()
        var last: Future<Int> = promise
        for _ in 0..<100_000 { last = last.mapToValue(on: .inline) { $0 } }
        promise.fail(with: Failed())
      }
    }
    #expect(reports.failures.count == 1)
  }

  @Test("A closure that waits for a blocked main queue is reported")
  func mainQueue() async throws {
    for limit in [Duration.milliseconds(20), .seconds(-1)] {
      let observer = DiagnosticsRecorder()
      let reports = try await observer.recording(.init(mainQueueLimit: limit)) {
        let (isBlocked, gate) = (Event(), Event())
        DispatchQueue.main.async {
          isBlocked.signal()
          gate.wait()
        }
        #expect(await isBlocked.opened())
        let link = Promises.makeSucceeded(with: 1).mapToValue { $0 }
        let other = Promises.makeSucceeded(with: 1).mapToValue(on: DispatchQueue.main) { $0 }
        #expect(await observer.hasHeardOfMain.opened())
        #expect(link.explain().steps.first?.reasons.first?.kind == .mainQueue)
        gate.signal()
        _ = try await (link.value, other.value)
      }
      #expect(!reports.stalled.isEmpty)
      #expect(reports.stalled.allSatisfy { $0.waited >= .zero && !$0.description.isEmpty })
    }
  }

  /// Counts the reports on the main queue.
  private final class StallCounter: DiagnosticsObserver {
    let count = Counter()
    func mainQueueDoesNotRun(_ report: StalledMainQueue) { count.add() }
  }

  @Test("A main queue that stands still is reported at most once in a millisecond")
  func zeroLimit() async throws {
    let (isBlocked, gate, counter) = (Event(), Event(), StallCounter())
    DispatchQueue.main.async {
      isBlocked.signal()
      gate.wait()
    }
    #expect(await isBlocked.opened())
    let begin = ContinuousClock.now
    FuturesDiagnostics.install(counter, configuration: .init(mainQueueLimit: .zero))
    let link = Promises.makeSucceeded(with: 1).mapToValue { $0 }
    #expect(await eventually { counter.count.value >= 50 })
    #expect(ContinuousClock.now - begin >= .milliseconds(40))
    FuturesDiagnostics.uninstall()
    gate.signal()
    #expect(try await link.value == 1)
  }

  @Test("A closure that waits under a limit of an hour is reported when a shorter limit comes")
  func shorterLimit() async throws {
    let (isBlocked, gate) = (Event(), Event())
    let observer = DiagnosticsRecorder()
    var links: [Future<Int>] = []
    FuturesDiagnostics.install(Deaf(), configuration: .init(mainQueueLimit: .seconds(3_600)))
    DispatchQueue.main.async {
      isBlocked.signal()
      gate.wait()
    }
    #expect(await isBlocked.opened())
    for _ in 0..<2 { links.append(Promises.makeSucceeded(with: 1).mapToValue { $0 }) }
    let reports = try await observer.recording(.init(mainQueueLimit: .milliseconds(20))) {
      #expect(await observer.hasHeardOfMain.opened())
    }
    gate.signal()
    for link in links { #expect(try await link.value == 1) }
    #expect(!reports.stalled.isEmpty)
  }

  @Test("A closure that takes longer than the limit is reported with its place and its queue")
  func slowClosures() async throws {
    let queue = OperationQueue()
    queue.name = "slow \"queue\""
    func run() async throws { _ = try await Promises.run(on: queue) { 1 }.mapToVoid().value }
    let line = #line - 1
    let recorder = DiagnosticsRecorder()
    let slow = try await recorder.recording(.init(mainQueueLimit: nil, slowClosureLimit: .zero)) {
      try await run()
      // The closure is measured after its future has settled.
      queue.finishAll()
    }.slow
    #expect(slow.map(\.createdAt.line) == [line])
    #expect(slow.first?.context.contains("slow \"queue\"") == true)
    let none = try await DiagnosticsRecorder()
      .recording(.init(mainQueueLimit: nil, slowClosureLimit: .seconds(Int64.max))) {
        try await run()
        queue.finishAll()
      }.slow
    #expect(none.isEmpty)
  }

  @Test("A closure that runs while the observers change is not reported to one that has no limit")
  func slowClosureOfFormerObserver() async throws {
    let queue = OperationQueue()
    let (isRunning, gate) = (Event(), Event())
    FuturesDiagnostics.install(
      Deaf(), configuration: .init(mainQueueLimit: nil, slowClosureLimit: .zero))
    let future = Promises.run(on: queue) {
      isRunning.signal()
      gate.wait()
    }
    #expect(await isRunning.opened())
    let reports = try await DiagnosticsRecorder().recording {
      gate.signal()
      _ = try await future.value
      queue.finishAll()
    }
    #expect(reports.slow.isEmpty)
  }

  @Test("A name of any characters and any length stays on one line of a report")
  func hostileNames() async throws {
    let names = [
      "two\nlines\r\u{2028}\u{85}", "\u{1B}[31m\u{0}", String(repeating: "long", count: 5_000),
      "e" + String(repeating: "\u{301}", count: 50_000),
    ]
    let reports = try await DiagnosticsRecorder().recording {
      func run() { for name in names { _ = Promise<Int>(name: name) } }
      let promise = Promise<Int>(name: names[0])
      #expect(Promises.pending().allSatisfy { !$0.description.contains(where: \.isNewline) })
      promise.cancel()
      run()
    }
    #expect(reports.broken.map(\.name) == names)
    for report in reports.broken {
      #expect(report.description.utf8.count < 1_500)
      #expect(report.description.unicodeScalars.allSatisfy { $0.value >= 32 && $0 != "\u{2028}" })
    }
  }
}

extension OperationQueue {
  fileprivate func finishAll() {
    waitUntilAllOperationsAreFinished()
  }
}

@Suite("Pending promises", .timeLimit(.minutes(5)), .alone)
struct PendingPromisesTests {
  private func pending() -> [PendingPromise] {
    Promises.pending().filter { $0.createdAt.fileID == #fileID }
  }

  @Test("Promises are listed while they are pending, oldest first, and only with an observer")
  func listed() async throws {
    let before = Promise<Int>(name: "before")
    #expect(Promises.pending().isEmpty)
    _ = try await DiagnosticsRecorder().recording {
      let first = Promise<Int>(name: "first")
      let second = Promises.make(promising: String.self)
      let (future, resolver) = Promises.makeResolver(promising: Bool.self)
      Promise<Int>().cancel()
      _ = Promise<Int>().recover(on: .inline) { _ in 0 }
      #expect(pending().map(\.createdAt) == [first, second, future].map(\.createdAt))
      #expect(pending().first?.name == "first")
      #expect(pending().first?.description.contains("\"first\"") == true)
      #expect(pending().allSatisfy { $0.age >= .zero })
      #expect(Promises.pending(olderThan: .seconds(Int64.max)).isEmpty)
      #expect(!Promises.pending(olderThan: .seconds(-1)).isEmpty)
      first.succeed(with: 1)
      resolver.succeed(with: true)
      #expect(pending().map(\.createdAt) == [second.createdAt])
      second.cancel()
      withExtendedLifetime(future) {}
    }
    #expect(Promises.pending().isEmpty)
    before.cancel()
  }

  @Test("Without the record, no promise is listed")
  func notRecorded() async throws {
    _ = try await DiagnosticsRecorder()
      .recording(.init(mainQueueLimit: nil, recordsPendingPromises: false)) {
        let promise = Promise<Int>()
        #expect(Promises.pending().isEmpty)
        promise.cancel()
      }
  }

  @Test("Times of more seconds than 64 bits hold: nothing traps, and nothing is reported")
  func hugeTimes() async throws {
    let huge = Duration.seconds(Int64.max) * 4
    let configuration = FuturesDiagnostics.Configuration(
      mainQueueLimit: huge, slowClosureLimit: huge)
    let reports = try await DiagnosticsRecorder().recording(configuration) {
      let promise = Promise<Int>()
      #expect(Promises.pending(olderThan: huge).isEmpty && !pending().isEmpty)
      #expect(!Promises.pending(olderThan: .zero - huge).isEmpty)
      promise.succeed(with: 1)
      _ = await Promises.run(on: .global()) {}.completion
    }
    #expect(reports.slow.isEmpty && reports.stalled.isEmpty)
  }

  @Test("A list is complete while other threads make the record clean itself")
  func cleanedMeanwhile() async throws {
    _ = try await DiagnosticsRecorder().recording {
      let kept = (0..<600).map { _ in Promise<Int>(name: "kept") }
      let isOver = TestLock(false)
      let makers = (0..<2).map { _ in
        Promises.run(on: OperationQueue()) {
          var kept: [Promise<Int>] = []
          while !isOver.withLock({ $0 }) || kept.count < 50 {
            for _ in 0..<100 { Promise<Int>().cancel() }
            if kept.count < 2_000 { kept.append(Promise<Int>(name: "late")) }
          }
          return kept
        }
      }
      for _ in 0..<300 where pending().count(where: { $0.name == "kept" }) != kept.count {
        Issue.record("the list is incomplete")
        break
      }
      isOver.withLock { $0 = true }
      var late: [Promise<Int>] = []
      for maker in makers { late += try await maker.value }
      #expect(pending().count == kept.count + late.count)
      for promise in kept + late { promise.cancel() }
    }
  }

  @Test("Promises that have settled leave the record, which does not grow for ever")
  func cleaned() async throws {
    _ = try await DiagnosticsRecorder().recording {
      let kept = (0..<3_000).map { _ in Promise<Int>() }
      for _ in 0..<20_000 { Promise<Int>().cancel() }
      #expect(pending().count == kept.count)
      #expect(PendingPromises.count < kept.count * 2 + 1_024)
      for promise in kept { promise.cancel() }
      #expect(pending().isEmpty)
    }
  }
}
