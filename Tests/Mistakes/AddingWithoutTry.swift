// A task is added to a workflow without `try`.
// error: call can throw, but it is not marked with 'try'
import Properations

private func mistake(_ workflow: Workflow) {
  let name = workflow.add("name") { "Ada" }
  print(name)
}
