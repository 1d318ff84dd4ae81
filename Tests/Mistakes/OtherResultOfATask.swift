// A task of a workflow finishes with a value of another type.
// error: cannot convert value of type 'String' to expected argument type 'Int'
import Properations

private func mistake() -> BlockWorkflowTask<Int> {
  BlockWorkflowTask<Int>(name: "pages") { task in task.finish(with: "twelve") }
}
