import Foundation
import Properations

struct Project: Sendable { let number: UInt64 }
struct Photo: Sendable { let file: String }
struct Metadata: Sendable { let title: String }
struct Upload: Sendable { let address: String }
struct Receipt: Sendable { let text: String }

enum OrderError: Error, LocalizedError {
  case connectionLost

  var errorDescription: String? { "the connection was lost" }
}

/// The workflow that orders a product.
///
///     Create Project ──┬──> Upload Photo 1 ──┐
///     Photo 1 ─────────┼──┘                  ├──> Submit Order
///                      └──> Upload Photo 2 ──┤
///     Photo 2 ────────────┘                  │
///     Metadata ──────────────────────────────┘
struct Order: Sendable {
  let workflow: Workflow
  /// The tasks as the user sees them.
  let steps: [Step]
  let submission: TimedTask<Receipt>

  init(in world: World) throws {
    // Inline: the tasks do not work; they only wait for the timeline.
    workflow = Workflow(name: "Order Product", context: .inline)

    let project = TimedTask(name: "Create Project", takes: .seconds(2), failing: 0.1, in: world) {
      _ in Project(number: world.chance.seed)
    }
    // These tasks wait for the user. Without the parameter they would fail when they
    // become ready.
    let photo1 = ExternalConditionTask<Photo>(name: "Photo 1", waitsForFulfillment: true)
    let photo2 = ExternalConditionTask<Photo>(name: "Photo 2", waitsForFulfillment: true)
    let metadata = ExternalConditionTask<Metadata>(name: "Metadata", waitsForFulfillment: true)

    let upload1 = Self.upload(photo1, to: project, "Upload Photo 1", takes: .seconds(5), in: world)
    let upload2 = Self.upload(photo2, to: project, "Upload Photo 2", takes: .seconds(6), in: world)

    // Results are typed: no casts and no optionals.
    submission = TimedTask(name: "Submit Order", takes: .seconds(2), failing: 0.1, in: world) {
      task in
      let photos = try [upload1, upload2].map { try task.result(of: $0).address }
      let title = try task.result(of: metadata).title
      return Receipt(text: "'\(title)' with \(photos.joined(separator: " and "))")
    }

    try workflow.add(project)
    try workflow.add(photo1)
    try workflow.add(upload1, prerequisites: project, photo1)
    try workflow.add(photo2)
    try workflow.add(upload2, prerequisites: project, photo2)
    try workflow.add(metadata)
    try workflow.add(submission, prerequisites: upload1, upload2, metadata)

    steps = [
      Step("1", project) { "project \($0.number)" },
      Step("2", photo1, fulfilledWith: Photo(file: "lighthouse.jpg")) { $0.file },
      Step("3", upload1) { $0.address },
      Step("4", photo2, fulfilledWith: Photo(file: "harbour.jpg")) { $0.file },
      Step("5", upload2) { $0.address },
      Step("6", metadata, fulfilledWith: Metadata(title: "The Coast")) { "'\($0.title)'" },
      Step("7", submission) { $0.text },
    ]
  }

  private static func upload(
    _ photo: WorkflowTask<Photo>, to project: WorkflowTask<Project>, _ name: String,
    takes duration: Duration, in world: World
  ) -> TimedTask<Upload> {
    TimedTask(name: name, takes: duration, failing: 0.15, in: world) { task in
      let number = try task.result(of: project).number
      return Upload(address: "/\(number)/\(try task.result(of: photo).file)")
    }
  }

  func step(of task: AnyWorkflowTask) -> Step? { steps.first { $0.task === task } }
}
