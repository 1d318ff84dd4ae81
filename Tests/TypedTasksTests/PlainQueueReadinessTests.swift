#if !canImport(Darwin) && !PROPERATIONS_AS_ON_DARWIN

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport
  import Testing
  import TypedTasks

  /// A plain queue reads the readiness of an operation, makes the operation wait for the
  /// barriers, and then has it.
  @Suite(
    "Tasks in plain queues: ready while the queue takes them", .timeLimit(.minutes(5)), .oneAtATime)
  struct PlainQueueReadinessTests {
    /// A task that becomes ready on another thread after a queue has read its readiness for
    /// the first time, and whose reader there is slow.
    private final class Slow: ProducerTask<Int, TestError>, @unchecked Sendable {
      // Sendable: nothing changes after init.
      let adder = Thread.current
      let isRead = Event()
      let isAdded = Event()
      let log: Log<String>

      init(_ log: Log<String>) {
        self.log = log
        super.init()
      }

      override var isReady: Bool {
        let isReady = super.isReady
        if Thread.current === adder {
          if !isAdded.isOpen { isRead.wait(.milliseconds(200)) }
        } else {
          isRead.signal()
          if isReady { isAdded.wait() }
        }
        return isReady
      }

      override func execute() {
        log.append("task")
        finish(with: .success(1))
      }
    }

    @Test(
      "a task that another thread finds ready while the queue takes it begins behind the barrier")
    func staleReadiness() async {
      let (queue, log, gate) = (OperationQueue(), Log<String>(), Promise<Int>())
      queue.maxConcurrentOperationCount = 3
      let first = queue.run { try await gate.value }
      queue.addBarrierBlock { log.append("barrier") }
      let task = Slow(log)
      queue.addOperation(task)
      task.isAdded.signal()
      // What the slow reader has found is recorded, and the queue has looked.
      #expect(await eventually(within: .milliseconds(300)) { !log.entries.isEmpty } == false)
      gate.succeed(with: 1)
      #expect(await eventually { queue.operationCount == 0 })
      #expect(log.entries == ["barrier", "task"])
      _ = first
    }
  }

#endif
