import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Futures of a run that are cancelled", .timeLimit(.minutes(5)), .oneAtATime)
struct CancelledOutcomeTests {
  @Test func `the run ends before the cancellation takes effect: the next run is not cancelled`()
    throws
  {
    let center = NotificationCenter()
    let workflow = Workflow(name: "w", context: .inline, notificationCenter: center)
    let task = try workflow.add(OpenTask(name: "t"))
    let run = workflow.start()
    let announced = Counter()
    let observer = center.addObserver(forName: .workflowWillCancel, object: nil, queue: nil) { _ in
      announced.add()
      task.finish(with: 1)
      workflow.reset()
      workflow.start()
    }
    defer { center.removeObserver(observer) }
    run.cancel()
    #expect(announced.value == 1 && task.isExecuting && task.runs.value == 2)
  }

  @Test func `the run is joined before the cancellation takes effect: it goes on until both do`()
    throws
  {
    let center = NotificationCenter()
    let workflow = Workflow(name: "w", context: .inline, notificationCenter: center)
    let task = try workflow.add(OpenTask(name: "t"))
    let run = workflow.start()
    let joined = Box<Future<WorkflowOutcome>?>(nil)
    let observer = center.addObserver(forName: .workflowWillCancel, object: nil, queue: nil) { _ in
      if joined.value == nil { joined.value = workflow.start() }
    }
    defer { center.removeObserver(observer) }
    run.cancel()
    #expect(task.isExecuting)
    joined.value?.cancel()
    #expect(task.isCancelled)
  }
}
