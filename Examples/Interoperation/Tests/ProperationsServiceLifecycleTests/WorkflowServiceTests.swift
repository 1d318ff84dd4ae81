import Foundation
import InMemoryLogging
import Logging
import Properations
import ProperationsServiceLifecycle
import ServiceLifecycle
import TestSupport
import Testing

@Suite("Workflows as services", .timeLimit(.minutes(1)))
struct WorkflowServiceTests {
  private let handler = InMemoryLogHandler()
  private let logger: Logger
  private let workflow = Workflow(name: "order")
  private let began = Event()
  private let mayEnd = Event()

  init() {
    let handler = handler
    logger = Logger(label: "service") { _ in handler }
  }

  private func group(within duration: Duration) -> ServiceGroup {
    ServiceGroup(
      configuration: .init(
        services: [
          .init(
            service: WorkflowService(workflow, shutDownWithin: duration, logger: logger),
            successTerminationBehavior: .gracefullyShutdownGroup)
        ],
        logger: logger))
  }

  /// A task that reports its beginning, and ends when it may.
  private func waiting(_ name: String) -> AsyncWorkflowTask<Int> {
    AsyncWorkflowTask(name: name) { [began, mayEnd] _ in
      began.signal()
      await mayEnd.opened()
      try Task.checkCancellation()
      return 1
    }
  }

  /// Shuts the group down when a waiting task has begun.
  private func shutDown(within duration: Duration) async -> Task<Void, any Error> {
    let group = group(within: duration)
    let running = Task { try await group.run() }
    await began.opened()
    await group.triggerGracefulShutdown()
    return running
  }

  @Test("A workflow that finishes ends its service")
  func finishes() async throws {
    try workflow.add(AsyncWorkflowTask<Int>(name: "pack") { _ in 1 })
    try await group(within: .seconds(10)).run()
    #expect(!workflow.hasUnfinishedTasks)
  }

  @Test("A graceful shutdown lets executing tasks finish, and begins no other")
  func graceful() async throws {
    let pack = try workflow.add(waiting("pack"))
    let send = try workflow.add(
      AsyncWorkflowTask<Int>(name: "send") { _ in 2 }, prerequisites: pack)
    let service = WorkflowService(workflow, shutDownWithin: .seconds(10), logger: logger)
    let group = ServiceGroup(services: [service], logger: logger)
    let running = Task { try await group.run() }

    await began.opened()
    await group.triggerGracefulShutdown()
    #expect(await eventually { workflow.isPaused })
    mayEnd.signal()
    try await running.value

    #expect(pack.isFinished)
    #expect(send.isCancelled)
    #expect(handler.entries.contains { $0.level == .notice && $0.metadata["outcome"] != nil })
  }

  @Test("Tasks of a workflow inside finish too, and no other begins")
  func nested() async throws {
    let inner = Workflow(name: "inner")
    let pack = try inner.add(waiting("pack"))
    let label = try inner.add(
      AsyncWorkflowTask<Int>(name: "label") { _ in 2 }, prerequisites: pack)
    try workflow.add(SubworkflowTask(name: "prepare", subworkflow: inner))
    let running = await shutDown(within: .seconds(600))
    #expect(await eventually { workflow.isPaused })
    mayEnd.signal()
    try await running.value
    #expect(pack.isFinished)
    #expect(label.isCancelled)
  }

  @Test("When the time is up, executing tasks are cancelled")
  func timeUp() async throws {
    let pack = try workflow.add(waiting("pack"))
    let running = await shutDown(within: .milliseconds(1))
    #expect(await eventually { pack.isCancelled })
    mayEnd.signal()
    try await running.value
  }

  @Test("Tasks that clean up run after the cancellation")
  func cleanup() async throws {
    let pack = try workflow.add(waiting("pack"))
    let tidy = try workflow.add(
      AsyncWorkflowTask<Int>(name: "tidy") { _ in 3 }, prerequisites: [pack], when: .whenAllDone)
    let running = await shutDown(within: .milliseconds(1))
    #expect(await eventually { pack.isCancelled })
    mayEnd.signal()
    try await running.value
    #expect(tidy.isFinished)
  }

  @Test("Cancelling the group cancels the workflow at once, although it has time")
  func cancellation() async throws {
    let pack = try workflow.add(waiting("pack"))
    let group = group(within: .seconds(600))
    let running = Task { try await group.run() }
    await began.opened()
    running.cancel()
    #expect(await eventually { pack.isCancelled })
    mayEnd.signal()
    _ = await running.result
    #expect(!workflow.isPaused)
  }

  @Test("A task that fails makes the service fail")
  func failure() async throws {
    let task = try workflow.add(
      AsyncWorkflowTask<Int>(name: "pack") { _ in throw TestError.first })
    let service = WorkflowService(workflow, shutDownWithin: .seconds(1), logger: logger)
    let error = await #expect(throws: WorkflowService.Incomplete.self) { try await service.run() }
    #expect(error?.outcome.errors[task] as? TestError == .first)
    #expect(error?.description.contains("pack") == true)
  }
}
