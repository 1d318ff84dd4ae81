import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

@Suite("Threads that deliver news", .timeLimit(.minutes(3)), .oneAtATime)
struct NewsThreadTests {
  /// Waits, on the thread that posts a notification of a task, for something else.
  private final class Waiting: @unchecked Sendable {
    // Sendable: the observers are only touched by the initializer and the deinit.
    let center = NotificationCenter()
    let misses = Counter()
    private var observers: [any NSObjectProtocol] = []

    /// - Parameter awaited: What to wait for at which news; `false` if it does not come.
    init(_ awaited: [String: @Sendable () -> Bool]) {
      for (name, text) in [
        (Notification.Name.taskDidFinish, "finished"), (.taskDidFail, "failed"),
      ] {
        observers.append(
          center.addObserver(forName: name, object: nil, queue: nil) { [misses] notification in
            guard let task = notification.object as? AnyWorkflowTask else { return }
            if let wait = awaited["\(task.name) \(text)"], !wait() { misses.add() }
          })
      }
    }

    deinit { for observer in observers { center.removeObserver(observer) } }
  }

  private static let patience = Duration.seconds(15)

  /// Whether a task ends in time.
  private func ends(_ task: WorkflowTask<Int>) -> @Sendable () -> Bool {
    {
      let end = Event()
      task.future.onCompletion(on: .inline) { _ in end.signal() }
      return end.wait(Self.patience)
    }
  }

  private func isQuiet(_ workflow: Workflow) -> Bool {
    workflow.core.read { !$0.isTelling && $0.news.isEmpty }
  }

  @Test func `a call that ends a task leaves later notifications to other threads, too`()
    async throws
  {
    let approval = ExternalConditionTask<Int>(name: "approval", waitsForFulfillment: true)
    let next = counting("next")
    let returned = Event()
    let waiting = Waiting([
      "approval finished": ends(next), "next finished": { returned.wait(Self.patience) },
    ])
    let workflow = Workflow(name: "w", notificationCenter: waiting.center)
    try workflow.add(approval)
    try workflow.add(next, prerequisites: approval)
    let run = workflow.start()
    #expect(await eventually { approval.isExecuting && isQuiet(workflow) })
    Thread {
      approval.fulfill(with: 1)
      returned.signal()
    }.start()
    #expect(try await run.value.isFinished)
    #expect(waiting.misses.value == 0)
  }

  @Test func `news inside goes on after a failure: the task around fails all the same`()
    async throws
  {
    let (mayFail, mayFinish) = (Event(), Event())
    let bad = BlockWorkflowTask<Int>(name: "bad") { run in
      mayFail.wait()
      run.fail(with: TestError.first)
    }
    let other = BlockWorkflowTask<Int>(name: "other") { run in
      mayFinish.wait()
      run.finish(with: 1)
    }
    let sibling = OpenTask(name: "sibling")
    let otherEnds = ends(other)
    let waiting = Waiting([
      "bad failed": {
        mayFinish.signal()
        return otherEnds()
      },
      "other finished": ends(sibling),
    ])
    let inner = Workflow(name: "inner", notificationCenter: waiting.center)
    try inner.add(bad)
    try inner.add(other)
    let outer = Workflow(name: "outer")
    outer.failFast = true
    let sub = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    try outer.add(sibling)
    let run = outer.start()
    #expect(
      await eventually {
        bad.isExecuting && other.isExecuting && sibling.isExecuting && isQuiet(inner)
          && isQuiet(outer)
      })
    mayFail.signal()
    #expect(try await run.value == .failed([sub: TestError.first]))
    #expect(await eventually { isQuiet(inner) })
    #expect(waiting.misses.value == 0)
  }

  @Test func `news goes on after an end: a dependent that runs inside the call begins`()
    async throws
  {
    let approval = ExternalConditionTask<Int>(name: "approval", waitsForFulfillment: true)
    let next = counting("next")
    let here = counting("here")
    here.setContext(.inline)
    let waiting = Waiting(["approval finished": ends(next), "next finished": ends(here)])
    let workflow = Workflow(name: "w", notificationCenter: waiting.center)
    try workflow.add(approval)
    try workflow.add(here, prerequisites: approval)
    try workflow.add(next, prerequisites: approval)
    let run = workflow.start()
    #expect(await eventually { approval.isExecuting && isQuiet(workflow) })
    Thread { approval.fulfill(with: 1) }.start()
    #expect(try await run.value.isFinished)
    #expect(waiting.misses.value == 0)
  }
}
