// The result of a prerequisite has another type.
// error: '@Sendable (String) -> String' to expected argument type '@Sendable (Int) throws -> String'
import Properations

private func mistake(_ workflow: Workflow) throws {
  let pages = try workflow.add("pages") { 12 }
  let title = try workflow.add("title", after: pages) { (text: String) in text.uppercased() }
  print(title)
}
