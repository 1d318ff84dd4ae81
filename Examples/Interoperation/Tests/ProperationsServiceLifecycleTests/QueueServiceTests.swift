import Foundation
import InMemoryLogging
import Logging
import Properations
import ProperationsServiceLifecycle
import ServiceLifecycle
import TestSupport
import Testing

@Suite("Queues as services", .timeLimit(.minutes(1)))
struct QueueServiceTests {
  private let handler = InMemoryLogHandler()
  private let logger: Logger
  private let queue = OperationQueue()

  init() {
    let handler = handler
    logger = Logger(label: "service") { _ in handler }
  }

  private func group(within duration: Duration) -> ServiceGroup {
    // The group logs at levels below that of the handler.
    ServiceGroup(
      services: [QueueService(queue, shutDownWithin: duration, logger: logger)], logger: logger)
  }

  /// Puts work in the queue that ends only when it is cancelled, and waits until it has begun.
  private func beginLongWork() async -> Future<Void> {
    let began = Event()
    let work = queue.run {
      began.signal()
      try await Task.sleep(for: .seconds(600))
    }
    await began.opened()
    return work
  }

  @Test("The example of the page: a graceful shutdown waits for the work in the queue")
  func graceful() async throws {
    let group = ServiceGroup(
      services: [QueueService(queue, shutDownWithin: .seconds(10), logger: logger)],
      logger: logger)
    let running = Task { try await group.run() }

    let (began, mayEnd) = (Event(), Event())
    let work = queue.run {
      began.signal()
      await mayEnd.opened()
      return 42
    }
    await began.opened()
    await group.triggerGracefulShutdown()
    #expect(await eventually { queue.isShutDown })
    #expect(!work.isFulfilled)
    mayEnd.signal()
    try await running.value
    #expect(try await work.value == 42)
    #expect(handler.entries.filter { $0.level == .warning }.isEmpty)
  }

  @Test("After the shutdown the queue refuses work")
  func refusal() async throws {
    let group = group(within: .seconds(10))
    let running = Task { try await group.run() }
    await group.triggerGracefulShutdown()
    try await running.value
    await #expect(throws: ProperationsError.self) { try await queue.run { 1 }.value }
  }

  @Test("When the time is up, the work is cancelled and its name is logged")
  func timeUp() async throws {
    let group = group(within: .milliseconds(1))
    let running = Task { try await group.run() }
    let work = Promise<Int>(name: "upload")
    try queue.addFuture(work)
    await group.triggerGracefulShutdown()
    try await running.value
    #expect(work.isCancelled)
    #expect(
      handler.entries.contains { $0.level == .warning && $0.metadata["operation"] == "upload" })
  }

  @Test("Cancelling the group cancels the work at once, although it has time")
  func cancellation() async throws {
    let group = group(within: .seconds(600))
    let running = Task { try await group.run() }
    let work = await beginLongWork()
    running.cancel()
    _ = await running.result
    _ = await work.completion
    #expect(work.isCancelled)
  }

  @Test("Cancelling the group during a graceful shutdown cancels the work at once")
  func escalation() async throws {
    let group = group(within: .seconds(600))
    let running = Task { try await group.run() }
    let work = await beginLongWork()
    await group.triggerGracefulShutdown()
    #expect(await eventually { queue.isShutDown })
    running.cancel()
    _ = await running.result
    _ = await work.completion
    #expect(work.isCancelled)
  }

  @Test("The main queue makes the service fail when it starts")
  func mainQueue() async {
    let service = QueueService(.main, shutDownWithin: .seconds(1), logger: logger)
    let error = await #expect(throws: ProperationsError.self) { try await service.run() }
    guard case .mainQueueCannotBeShutDown? = error else {
      Issue.record("The error is \(String(describing: error)).")
      return
    }
  }
}
