import Properations

/// A failure with a text.
struct Planned: Error, CustomStringConvertible {
  let description: String
}

/// A workflow of a condition and two tasks that need its value.
struct Report {
  let workflow = Workflow(name: "Report", context: .inline)
  let approval = ExternalConditionTask<String>(name: "approval", waitsForFulfillment: true)
  let text: WorkflowTask<String>
  let mail: WorkflowTask<Void>

  /// - Parameter failures: How often the text fails.
  init(failures: Int = 0) throws {
    try workflow.add(approval)
    text = try workflow.add(
      "text", after: approval, on: .inline,
      run: { run, name in
        if run.attempt <= failures { throw Planned(description: "attempt \(run.attempt)") }
        return "by \(name)"
      })
    text.retryPolicy = RetryPolicy(attempts: 2)
    mail = try workflow.add("mail", after: text, on: .inline) { _ in }
  }
}
