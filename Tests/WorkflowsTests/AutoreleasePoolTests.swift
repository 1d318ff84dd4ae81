#if PROPERATIONS_AS_ON_DARWIN && !canImport(Darwin)

  import Foundation
  import Futures
  import TestSupport
  import Testing
  import Workflows

  @Suite("Autorelease pools around the code of workflows", .timeLimit(.minutes(5)))
  struct AutoreleasePoolTests {
    /// Notes how many pools there are around each call.
    private final class Recorder: WorkflowDelegate {
      let pools = Log<Int>()
      let end = Event()

      func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) {
        pools.append(AutoreleasePools.count)
      }
      func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
        pools.append(AutoreleasePools.count)
        end.signal()
      }
    }

    /// A task whose hook notes how many pools there are around it.
    private final class Hooked: WorkflowTask<Int>, @unchecked Sendable {
      // Sendable: nothing changes after init.
      let pools = Log<Int>()

      override func main(_ run: TaskWork<Int>) {
        pools.append(AutoreleasePools.count)
        run.finish(with: 1)
      }
      override func didFinish(with result: Int) { pools.append(AutoreleasePools.count) }
    }

    @Test("Tasks, their hooks and a delegate run in a pool")
    func delegate() async throws {
      let workflow = Workflow(name: "w")
      let (recorder, task) = (Recorder(), Hooked(name: "hooked"))
      workflow.delegate = recorder
      try workflow.add(task)
      #expect(try await workflow.run().isFinished)
      await recorder.end.opened()
      #expect(recorder.pools.count == 2 && recorder.pools.entries.allSatisfy { $0 >= 1 })
      #expect(task.pools.count == 2 && task.pools.entries.allSatisfy { $0 >= 1 })
    }

    @Test("A delegate and hooks in a context of their own run in a pool")
    func inContext() async throws {
      let workflow = Workflow(name: "w")
      let (recorder, task) = (Recorder(), Hooked(name: "hooked"))
      workflow.setDelegate(recorder, on: OperationQueue())
      task.callHooks(on: OperationQueue())
      try workflow.add(task)
      #expect(try await workflow.run().isFinished)
      await recorder.end.opened()
      #expect(recorder.pools.count == 2 && recorder.pools.entries.allSatisfy { $0 >= 1 })
      #expect(await eventually { task.pools.count == 2 })
      #expect(task.pools.entries.allSatisfy { $0 >= 1 })
    }
  }

#endif
