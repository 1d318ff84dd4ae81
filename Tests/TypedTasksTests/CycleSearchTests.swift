import Futures
import TestSupport
import Testing
import TypedTasks

private enum Printer {}

@Suite("Searches for cycles", .timeLimit(.minutes(5)), .oneAtATime)
struct CycleSearchTests {
  @Test("A cycle leads through the last of forty tasks that wait for a category: it is found")
  func throughACategory() async {
    let (queue, first) = (TaskQueue(), Manual<Int>())
    let group = GroupTask<TestError>(tasks: [first])
      .addCondition(.mutuallyExclusive(Printer.self))
    queue.addTask(group)
    #expect(await first.started.opened())
    let waiting = (0..<40).map { _ in exclusive(Printer.self) }
    queue.addAll(waiting)
    #expect(
      await eventually {
        waiting.allSatisfy { $0.description.contains("waiting for its turn") }
      })
    // So many that the search comes from the other side.
    let promises = (0..<200).map { _ in Promise<Int>() }
    let member: Sample<Int> = succeeding(1)
    for promise in promises { member.addDependency(promise) }
    member.addDependency(waiting[39])
    group.addTask(member)
    #expect(await eventually { member.isFinished })
    if case .cycle? = member.kind {} else { Issue.record("no cycle was found") }
    first.finish(with: .success(1))
    for task in waiting { #expect(await task.outcome() == .success) }
  }

  @Test("A consumer no longer depends on its producer, which then waits for it: no cycle")
  func formerProducer() async {
    let producer: Sample<Int> = succeeding(1)
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: producer) {
      _, _, finish in
      finish(.success(2))
    }
    consumer.removeDependency(producer)
    producer.addDependency(consumer)
    let queue = TaskQueue()
    queue.addTask(producer)
    queue.addTask(consumer)
    #expect(await producer.outcome() == .success)
    // It has no result to consume.
    #expect(await consumer.outcome() == .producing)
  }
}
