// A workflow is run without `await`.
// error: 'async' call in a function that does not support concurrency
import Properations

private func mistake(_ workflow: Workflow) throws -> WorkflowOutcome {
  try workflow.run()
}
