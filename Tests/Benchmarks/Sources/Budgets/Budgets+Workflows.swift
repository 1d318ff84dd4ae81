import Foundation
import Properations
import Workloads

extension Budget {
  /// The budgets that the specification of workflows promises, in its order.
  static func workflows() -> [Budget] {
    let count = 100_000
    func each(_ time: Double) -> Double { time / Double(count) }
    func running(_ make: (Int) -> Workflow) -> Double {
      let workflow = make(count)
      return each(Clock.wall.time { Graphs.run(workflow) })
    }
    func building(_ make: () -> Workflow, per number: Int) -> Double {
      Clock.processor.time { withExtendedLifetime(make()) {} } / Double(number)
    }
    return [
      .ratio(
        "a task of a wide workflow", atMost: 1.0, against: "a child of a discarding task group",
        rounds: 7, ours: { running(Graphs.wide) },
        reference: { each(Clock.wall.time { Graphs.discardingGroup(count) }) }),
      .ratio(
        "a task of a chain of 100,000", atMost: 0.5, against: "a Swift task made and awaited",
        rounds: 7, ours: { running(Graphs.chain) },
        reference: { each(Clock.wall.time { Graphs.awaitedTasks(count) }) }),
      // Few, because bare operations that depend on each other cost more each, the more
      // there are. This is no promise of the package; it shows why a workflow keeps
      // waiting tasks out of the queue.
      .ratio(
        "a task of a chain of 1,000", atMost: 0.5,
        against: "bare operations that depend on each other", rounds: 7,
        ours: { Clock.wall.time { Graphs.run(Graphs.chain(1000)) } / 1000 },
        reference: { Clock.wall.time { Graphs.dependentOperations(1000) } / 1000 }),
      .limit("adding a task to a workflow", atMost: 1000, unit: "ns") {
        median((0..<7).map { _ in building({ Graphs.wide(count) }, per: count) })
      },
      .limit("an edge between two tasks", atMost: 300, unit: "ns") {
        // The edges are all pairs of tasks in neighbouring layers. The time includes
        // making the tasks.
        median((0..<7).map { _ in building({ Graphs.layers(50, of: 50) }, per: 49 * 50 * 50) })
      },
    ]
  }
}
