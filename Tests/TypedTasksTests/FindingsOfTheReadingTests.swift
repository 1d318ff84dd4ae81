import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("What a reading of typed tasks found", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfTheReadingTests {
  /// Counts the tasks that come into a queue.
  private final class Counting: TaskQueueDelegate {
    let added = Counter()
    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T) { added.add() }
  }

  @Test("Stages that part and join again 40 times come into the queue once each, upstream first")
  func diamonds() async {
    let (queue, delegate) = (TaskQueue(), Counting())
    queue.delegate = delegate
    var stage: ProducerTask<Int, TestError> = succeeding(1)
    for _ in 0..<40 {
      let last = stage
      stage = Tasks.collect([last.map { $0 }, last.map { $0 + 1 }]).map { $0[0] }
    }
    queue.addTask(stage)
    #expect(await stage.outcome() == .success)
    #expect(stage.success == 1)
    #expect(delegate.added.value == 1 + 40 * 4)
  }
}
