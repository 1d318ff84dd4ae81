import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// Counts the reports of slow closures of this file.
private final class SlowClosures: DiagnosticsObserver {
  let contexts = TestLock<[String]>([])
  private let expected: Int
  let haveCome = Event()

  init(expecting count: Int) { expected = count }

  func closureWasSlow(_ report: SlowClosure) {
    guard report.createdAt.fileID == #fileID else { return }
    let count = contexts.withLock { contexts in
      contexts.append(report.context)
      return contexts.count
    }
    if count == expected { haveCome.signal() }
  }
}

/// What programs found that were written from the documentation alone.
@Suite("Findings of hostile programs on queues", .timeLimit(.minutes(5)), .alone)
struct FindingsOfHostileProgramsTests {
  /// Closures are measured after their futures have settled.
  private func finishAll(_ queue: OperationQueue) { queue.waitUntilAllOperationsAreFinished() }

  /// Runs one closure of each kind that occupies the queue.
  private func runClosures(in queue: OperationQueue) async throws {
    _ = try await queue.run { () async -> Int in
      await Task.yield()
      return 1
    }.value
    _ = await queue.run { () async throws -> Int in throw TestError.first }.completion
    _ = try await queue.run(barrier: true) { () async in 2 }.value
    _ = try await queue.run(barrier: true) { 3 }.value
    for context in [queue, OperationQueue()] {
      _ = try await Promises.makeBlocking(in: queue, on: context) { promise in
        promise.succeed(with: 4)
      }.value
      finishAll(context)
    }
    finishAll(queue)
  }

  @Test("Async closures, barriers and closures of blocking promises are in a trace, once each")
  func traced() async throws {
    let queue = OperationQueue()
    let recorder = TraceRecorder()
    recorder.start()
    try await runClosures(in: queue)
    recorder.stop()
    let slices = try TraceEvent.all(in: recorder.json).filter { event in
      event.phase == "X"
        && event.arguments["createdAt"]?.contains("FindingsOfHostileProgramsTests") == true
    }
    #expect(slices.count == 6)
  }

  @Test("Async closures, barriers and closures of blocking promises are measured, once each")
  func measured() async throws {
    let queue = OperationQueue()
    queue.name = "measured"
    let observer = SlowClosures(expecting: 6)
    FuturesDiagnostics.install(
      observer, configuration: .init(mainQueueLimit: nil, slowClosureLimit: .zero))
    defer { FuturesDiagnostics.uninstall() }
    try await runClosures(in: queue)
    #expect(await observer.haveCome.opened())
    let contexts = observer.contexts.withLock { $0 }
    #expect(contexts.count == 6)
    #expect(contexts.filter { $0.contains("measured") }.count == 5)
  }

  @Test("run(after:) takes a collection: of futures, of operations, of different ones, or empty")
  func afterCollection() async throws {
    let queue = OperationQueue()
    let promises = (0..<3).map { _ in Promise<Int>() }
    let plain = BlockOperation {}
    let afterPromises = queue.run(after: promises) { () async in 1 }
    let afterBoth = queue.run(barrier: true, after: [plain, afterPromises]) { () async in 2 }
    #expect(try await queue.run(after: [Future<Int>]()) { () async in 3 }.value == 3)
    promises[0].succeed(with: 1)
    promises[1].fail(with: TestError.first)
    #expect(!afterPromises.isFulfilled)
    promises[2].cancel()
    #expect(try await afterPromises.value == 1)
    #expect(!afterBoth.isFulfilled)
    plain.start()
    #expect(try await afterBoth.value == 2)
    let any: Set<AnyFuture> = [promises[0], afterBoth]
    #expect(try await queue.run(after: any) { try await afterBoth.value }.value == 2)
  }
}
