// The block of a task calls a method that is not there.
// error: has no dynamic member 'finsh'
import Properations

private func mistake() -> BlockWorkflowTask<Int> {
  BlockWorkflowTask<Int>(name: "pages") { task in task.finsh(with: 12) }
}
