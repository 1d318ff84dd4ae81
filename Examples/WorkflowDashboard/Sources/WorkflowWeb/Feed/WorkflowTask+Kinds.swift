import Foundation
import Properations

/// A condition with a result of any type.
protocol Condition: AnyWorkflowTask {
  var isFulfilled: Bool { get }
  func fulfill(withText text: String) throws(RequestError) -> Bool
}

extension ExternalConditionTask: Condition {
  /// Fulfills the condition with the value that a text stands for.
  func fulfill(withText text: String) throws(RequestError) -> Bool {
    if let value = text as? Output { return fulfill(with: value) }
    if let value = () as? Output { return fulfill(with: value) }
    guard let type = Output.self as? any Decodable.Type else {
      throw RequestError(.conflict, "A value of type \(Output.self) cannot be typed here.")
    }
    guard let value = try? JSONDecoder().decode(type, from: Data(text.utf8)) as? Output else {
      throw RequestError(.badRequest, "The text is no JSON for a value of type \(Output.self).")
    }
    return fulfill(with: value)
  }
}

/// A task whose work is a workflow, with a result of any type.
protocol Subworkflow: AnyWorkflowTask {
  var subworkflow: Workflow { get }
}

extension SubworkflowTask: Subworkflow {}

extension AnyWorkflowTask {
  var kind: TaskEntry.Kind {
    if self is any Condition { return .condition }
    return self is any Subworkflow ? .subworkflow : .work
  }
}

extension WorkflowTaskState {
  /// The name of the state in pictures.
  var name: String { description.lowercased() }
}

extension TriggerRule {
  /// The name of the rule in pictures; `nil` for the default.
  var name: String? {
    switch self {
    case .whenAllSucceed: nil
    case .whenAllDone: "all done"
    case .whenAnyFails: "any fails"
    }
  }
}
