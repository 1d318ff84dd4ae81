import Foundation
import Properations

/// A task of the order as the user sees it.
struct Step: Sendable {
  /// An action that the user can perform on a task.
  enum Action: String, Sendable {
    case provide, start, cancel, retry, reset
  }

  /// The key of the step.
  let key: Character
  let task: AnyWorkflowTask
  private let currentAttempts: @Sendable () -> Int
  private let currentProgress: @Sendable () -> Double
  private let currentResult: @Sendable () -> String?
  /// Fulfills the task, if it is a condition.
  private let provide: (@Sendable () -> Void)?

  /// Makes a step for a task that works.
  init<Output>(
    _ key: Character, _ task: TimedTask<Output>,
    describing text: @escaping @Sendable (Output) -> String
  ) {
    self.key = key
    self.task = task
    currentAttempts = { task.attempts }
    currentProgress = { task.progress }
    currentResult = { task.result.map(text) }
    provide = nil
  }

  /// Makes a step for a task that waits for the user.
  init<Output>(
    _ key: Character, _ task: ExternalConditionTask<Output>, fulfilledWith output: Output,
    describing text: @escaping @Sendable (Output) -> String
  ) {
    self.key = key
    self.task = task
    currentAttempts = { 1 }
    currentProgress = { task.isFinished ? 1 : 0 }
    currentResult = { task.result.map(text) }
    provide = { task.fulfill(with: output) }
  }

  var isCondition: Bool { provide != nil }
  /// The number of attempts.
  var attempts: Int { currentAttempts() }
  /// From 0 to 1.
  var progress: Double { currentProgress() }
  var result: String? { currentResult() }

  /// The action that is possible now, if any.
  var action: Action? {
    switch task.state {
    case .pending: nil
    case .ready: isCondition ? .provide : .start
    case .executing: isCondition ? .provide : .cancel
    case .cancelled, .failed: .retry
    case .finished, .skipped: .reset
    }
  }

  func perform(_ action: Action) {
    switch action {
    case .provide: provide?()
    case .start: task.start()
    case .cancel: task.cancel()
    case .retry: task.retry()
    case .reset: task.reset()
    }
  }
}
