import Foundation
import Properations
import Workloads

extension Budget {
  /// The budgets that the specification of typed tasks promises, in its order.
  static func typedTasks() -> [Budget] {
    let count = 1000
    func each(_ work: () -> Void) -> Double { Clock.wall.time(work) / Double(count) }
    let tasks = TaskQueue(maxConcurrentTaskCount: 1)
    let operations = OperationQueue()
    operations.maxConcurrentOperationCount = 1
    func withDependencies(_ count: Int) -> Double {
      Clock.processor.time { TypedTaskWork.randomDependencies(count) } / Double(count)
    }
    return [
      .ratio(
        "a block task through a task queue", atMost: 1.3,
        against: "a block operation through an operation queue", rounds: 41,
        ours: { each { TypedTaskWork.tasks(count, through: tasks) } },
        reference: { each { TypedTaskWork.operations(count, through: operations) } }),
      .ratio(
        "`map` of a task", atMost: 1.5, against: "`mapToValue` on an operation queue", rounds: 41,
        ours: { each { TypedTaskWork.operators(count, in: tasks) } },
        reference: { each { TypedTaskWork.links(count, on: operations) } }),
      // Linear: twice as many tasks take at most 2.6 times as long.
      .ratio(
        "50,000 tasks with random dependencies: each", atMost: 1.3, against: "of 25,000",
        rounds: 5, isStable: true, ours: { withDependencies(50_000) },
        reference: { withDependencies(25_000) }),
    ]
  }
}
