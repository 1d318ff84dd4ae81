import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Tasks whose work is async", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncProducerTaskTests {
  private final class Cancelling: AsyncProducerTask<Int, any Error>, @unchecked Sendable {
    override var qualityOfService: QualityOfService {
      get {
        if isExecuting { cancel() }
        return super.qualityOfService
      }
      set { super.qualityOfService = newValue }
    }

    override func perform() async throws -> Int {
      try Task.checkCancellation()
      return 1
    }
  }

  @Test("A task is cancelled where its quality of service is read: its work is cancelled")
  func cancelledWhileItBegins() async {
    let task = Cancelling()
    TaskQueue().addTask(task)
    #expect(await eventually { task.isFinished })
    #expect(task.isCancelled)
  }
}
