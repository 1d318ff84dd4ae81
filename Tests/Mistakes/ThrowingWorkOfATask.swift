// The block of a task throws.
// error: use 'AsyncWorkflowTask'
import Properations

private func load() throws -> Int { 12 }

private func mistake() -> BlockWorkflowTask<Int> {
  BlockWorkflowTask<Int>(name: "pages") { task in task.finish(with: try load()) }
}
