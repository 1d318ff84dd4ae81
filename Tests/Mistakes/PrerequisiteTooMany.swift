// The closure has more parameters than the task has prerequisites.
// error: have the same shape
import Properations

private func mistake(_ workflow: Workflow) throws {
  let pages = try workflow.add("pages") { 12 }
  let title = try workflow.add("title", after: pages) { (task, pages, name) in "\(name): \(pages)" }
  print(title)
}
