import Properations

/// What a page can say about a workflow beyond what every workflow knows.
///
/// Everything is optional:
///
/// ```swift
/// var presentation = WorkflowPresentation()
/// presentation.progress = { task in (task as? Upload)?.fractionSent }
/// presentation.result = { task in task.anyResult.map { "\($0)" } }
/// dashboard.show(workflow, presentation)
/// ```
///
/// The closures are called from any thread, several times a second while tasks execute.
/// They must return soon.
public struct WorkflowPresentation: Sendable {
  /// Returns the completed fraction of an executing task, from 0 to 1; `nil` if it is
  /// unknown.
  ///
  /// It need not know tasks that have ended or that run a subworkflow.
  public var progress: (@Sendable (AnyWorkflowTask) -> Double?)?

  /// Returns the result of a finished task as text; `nil` if there is nothing to say.
  public var result: (@Sendable (AnyWorkflowTask) -> String?)?

  /// Fulfills a condition with what a person has typed.
  ///
  /// Without this closure, or if it returns `nil`, the dashboard itself converts the text:
  /// conditions of a `String` take it as it is, those of `Void` ignore it, and those of
  /// another `Decodable` type decode it as JSON.
  ///
  /// Return whether the condition was fulfilled by this call. An error tells the person what
  /// is wrong with the text.
  public var fulfill: (@Sendable (AnyWorkflowTask, _ text: String) throws -> Bool?)?

  /// Whether the page only shows the workflow, without buttons.
  public var isReadOnly = false

  /// Makes a presentation of what every workflow knows.
  public init() {}
}
