import ExampleSupport
import Foundation
import Properations

/// Carries out what the buttons of the page ask for.
///
/// The work happens on a queue with threads of its own, because a workflow may run its tasks
/// inside the call that starts them.
struct WorkflowControl: Sendable {
  let workflow: Workflow
  let presentation: WorkflowPresentation
  private let queue: OperationQueue

  init(_ workflow: Workflow, _ presentation: WorkflowPresentation, on queue: OperationQueue) {
    (self.workflow, self.presentation, self.queue) = (workflow, presentation, queue)
  }

  /// Controls the run.
  func perform(_ action: RunAction) async throws {
    try check()
    try await Promises.run(on: queue) { [workflow] in
      guard RunAction.legal(for: workflow).contains(action) else {
        throw RequestError(.conflict, "The workflow cannot \(action.rawValue) now.")
      }
      switch action {
      case .start: workflow.start()
      case .pause: workflow.pause()
      case .resume: workflow.resume()
      case .cancel: workflow.cancel()
      case .retry: workflow.retry()
      case .reset: workflow.reset()
      }
    }.value
  }

  /// Controls a task.
  ///
  /// - Parameter text: What a person has typed, to fulfill a condition with.
  func perform(_ action: TaskAction, on task: AnyWorkflowTask, text: String?) async throws {
    try check()
    try await Promises.run(on: queue) { [self] in
      let state = task.state
      guard TaskAction.legal(for: task, in: state).contains(action) else {
        let hint = action == .fulfill ? "has a value already, or takes none" : "is \(state.name)"
        throw RequestError(.conflict, "The task cannot \(action.rawValue): it \(hint).")
      }
      switch action {
      case .start: task.start()
      case .cancel: task.cancel()
      case .retry: task.retry()
      case .reset: task.reset()
      case .fulfill: try fulfill(task, with: text ?? "")
      }
    }.value
  }

  private func check() throws {
    guard !presentation.isReadOnly else {
      throw RequestError(.conflict, "This workflow is only shown.")
    }
  }

  private func fulfill(_ task: AnyWorkflowTask, with text: String) throws {
    do {
      guard
        let isFirst = try presentation.fulfill?(task, text)
          ?? (task as? any Condition)?.fulfill(withText: text), isFirst
      else { throw RequestError(.conflict, "The condition has a value already.") }
    } catch let error as RequestError {
      throw error
    } catch {
      throw RequestError(.badRequest, "The value is not accepted: \(error.shownMessage)")
    }
  }
}

extension Error {
  /// The message for people, of a limited length, because every page gets it.
  var shownMessage: String {
    message.count > 500 ? message.prefix(499) + "…" : message
  }
}
