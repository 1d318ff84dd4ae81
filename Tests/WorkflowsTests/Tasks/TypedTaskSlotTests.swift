import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks
import Workflows

@Suite("Typed tasks in the queue of a workflow", .timeLimit(.minutes(5)), .oneAtATime)
struct TypedTaskSlotTests {
  @Test("Ten tasks, a queue with one slot: they run in that queue, one at a time")
  func oneSlot() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let workflow = Workflow(name: "one slot", context: queue)
    let (running, elsewhere) = (Counter(), Counter())
    let finishes = Log<BlockProducerTask<Int, TestError>.Finish>()
    let tasks = try (0..<10).map { index in
      try workflow.add(
        FutureWorkflowTask<Int>(name: "\(index)") { _ in
          BlockProducerTask<Int, TestError> { _, finish in
            if OperationQueue.current !== queue { elsewhere.add() }
            running.add()
            // (The slot is taken until the task ends, not until its closure returns.)
            finishes.append(finish)
          }
        })
    }
    workflow.start()
    for index in 0..<10 {
      #expect(await eventually { finishes.count == index + 1 })
      running.add(-1)
      finishes.entries[index](.success(index))
    }
    #expect(await eventually { tasks.allSatisfy { $0.state == .finished } })
    #expect(running.highest == 1 && elsewhere.value == 0)
  }
}
