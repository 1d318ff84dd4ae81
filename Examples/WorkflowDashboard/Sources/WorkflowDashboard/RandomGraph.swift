import ExampleSupport
import Foundation
import Properations

/// A workflow of many tasks: always the same one for the same size and seed.
///
/// The tasks stand in layers and depend on some of the layer before. Some fail and are tried
/// again, a few fail for good, and some workflows are inside tasks.
struct RandomGraph {
  /// The error for an argument that describes no graph.
  struct InvalidArgument: Error, LocalizedError {
    var errorDescription: String? {
      "The argument is a number of tasks from 1 to \(sizes.upperBound) and a seed, such as 200.7."
    }
  }

  static let sizes = 1...2000

  let workflow: Workflow
  private var generator: SplitMix

  /// Reads an argument such as `200.7`: the number of tasks, and the seed.
  init(argument: String, speed: Double) throws {
    let parts = argument.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let count = Int(parts[0]), let seed = UInt64(parts[1]),
      Self.sizes.contains(count)
    else { throw InvalidArgument() }
    try self.init(count: count, seed: seed, speed: speed)
  }

  init(count: Int, seed: UInt64, speed: Double) throws {
    workflow = Workflow(name: "\(count) tasks, seed \(seed)", context: .inline)
    workflow.maxConcurrentTaskCount = 24
    generator = SplitMix(state: seed)
    let width = max(2, Int(Double(count).squareRoot() / 1.5))
    // Every twentieth place has a workflow of a few tasks, if there is room for it.
    var rest = count
    var (previous, layer): ([AnyWorkflowTask], [AnyWorkflowTask]) = ([], [])
    var number = 0
    while rest > 0 {
      number += 1
      var task: AnyWorkflowTask = paced("Task \(number)", speed)
      if rest > 6, generator.next(below: 20) == 0 {
        let inner = try self.inner("Group \(number)", speed)
        rest -= inner.allTasks.count
        let group = SubworkflowTask(name: "Group \(number)", subworkflow: inner)
        task = group
      }
      rest -= 1
      // An array: the order in a set differs from run to run.
      var needed: [AnyWorkflowTask] = []
      for _ in 0...generator.next(below: 2) where !previous.isEmpty {
        // Near the same place in the layer, so that few lines cross.
        let place = layer.count * previous.count / width + generator.next(below: 3)
        let task = previous[min(place, previous.count - 1)]
        if !needed.contains(task) { needed.append(task) }
      }
      try workflow.add(task, prerequisites: needed)
      layer.append(task)
      if layer.count >= width { (previous, layer) = (layer, []) }
    }
  }

  private mutating func inner(_ name: String, _ speed: Double) throws -> Workflow {
    let inner = Workflow(name: name, context: .inline)
    var last: AnyWorkflowTask?
    for number in 1...(2 + generator.next(below: 3)) {
      let task = paced("\(name), step \(number)", speed)
      try inner.add(task, prerequisites: [last].compactMap { $0 })
      last = task
    }
    return inner
  }

  private mutating func paced(_ name: String, _ speed: Double) -> PacedTask {
    let duration = Duration.milliseconds(200 + generator.next(below: 2000)) / speed
    // One of a hundred fails for good; one of twenty twice.
    let draw = generator.next(below: 100)
    let failures = draw == 0 ? Int.max : draw < 6 ? 2 : 0
    let task = PacedTask(name: name, takes: duration, failures: failures)
    if draw < 6 {
      task.retryPolicy = RetryPolicy(
        attempts: 3, delay: .exponential(.milliseconds(400) / speed))
    }
    return task
  }
}
