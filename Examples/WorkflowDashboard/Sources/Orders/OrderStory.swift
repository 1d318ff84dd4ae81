import Properations

/// The order of `Examples/OrderWorkflow` in real time, for programs that show it otherwise.
package final class OrderStory: Sendable {
  /// The workflow of the order.
  package var workflow: Workflow { order.workflow }

  private let order: Order
  private let ticking: Task<Void, Never>

  /// - Parameters:
  ///   - seed: Decides which attempts fail.
  ///   - failures: The probability that a step fails; `nil` for that of each step.
  ///   - speed: How many times as fast as a clock the story goes.
  package init(seed: UInt64, failures: Double? = nil, speed: Double = 1) throws {
    let timeline = Timeline()
    let chance = Chance(seed: seed, probability: failures)
    order = try Order(in: World(timeline: timeline, chance: chance))
    ticking = Task {
      let start = ContinuousClock.now
      while (try? await Task.sleep(for: .milliseconds(20))) != nil {
        timeline.advance(to: (ContinuousClock.now - start) * speed)
      }
    }
  }

  deinit { ticking.cancel() }

  /// The completed fraction of a task; `nil` while it waits for a person.
  package func progress(of task: AnyWorkflowTask) -> Double? {
    guard let step = order.step(of: task), !step.isCondition else { return nil }
    return step.progress
  }

  /// The result of a task as text.
  package func result(of task: AnyWorkflowTask) -> String? { order.step(of: task)?.result }

  /// The error for a value that is no photo or title.
  package struct EmptyValue: Error, CustomStringConvertible {
    package let description = "it must not be empty"
  }

  /// Fulfills a condition with the name of a photo or a title.
  ///
  /// - Returns: Whether this call has fulfilled it; `nil` if the task is no condition.
  package func fulfill(_ task: AnyWorkflowTask, with text: String) throws -> Bool? {
    switch task {
    case let photo as ExternalConditionTask<Photo>:
      guard !text.isEmpty else { throw EmptyValue() }
      return photo.fulfill(with: Photo(file: text))
    case let metadata as ExternalConditionTask<Metadata>:
      guard !text.isEmpty else { throw EmptyValue() }
      return metadata.fulfill(with: Metadata(title: text))
    default: return nil
    }
  }
}
