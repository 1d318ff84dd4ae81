import Foundation
import Properations
import TestSupport
import Testing

// What the comments of the module talk about: a report on a user's project.

private struct User: Sendable, Equatable { let name: String }
private struct Project: Sendable, Equatable { let owner: User }
private struct Approval: Sendable { let by: String }

private struct Report: Sendable, Equatable {
  let text: String

  init(for user: User) throws { text = "Report for \(user.name)" }
}

private struct API: Sendable {
  func loadUser(_ handler: @escaping @Sendable (Result<User, any Error>) -> Void) {
    DispatchQueue.global().async { handler(.success(User(name: "Ada"))) }
  }
  func project(of user: User) async throws -> Project { Project(owner: user) }
}

private let api = API()

private final class Controller: Sendable {
  func map(_ task: TaskWork<Int>) { task.finish(with: 3) }
}

private final class RenderOperation: Operation, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let pages: [Int]

  init(pages: [Int]) { self.pages = pages }

  func images() throws -> [Picture] { pages.map { Picture(width: $0) } }
}

private enum Subclass {
  final class Render: WorkflowTask<Report>, @unchecked Sendable {
    private let user: WorkflowTask<User>

    init(user: WorkflowTask<User>) {
      self.user = user
      super.init(name: "render")
    }

    override func main() {
      do {
        finish(with: try Report(for: result(of: user)))
      } catch {
        fail(with: error)
      }
    }
  }
}

private typealias Render = Subclass.Render

@Suite("Comments of Workflows", .timeLimit(.minutes(1)), .oneAtATime)
struct WorkflowsCommentsSnippets {
  @Test("A workflow of block, async and own tasks")
  func tasks() async throws {
    let user = BlockWorkflowTask<User>(name: "user") { task in
      api.loadUser { result in
        switch result {
        case .success(let user): task.finish(with: user)
        case .failure(let error): task.fail(with: error)
        }
      }
    }
    let project = AsyncWorkflowTask<Project>(name: "project") { task in
      try await api.project(of: task.result(of: user))
    }
    let render = Render(user: user)

    let workflow = Workflow(name: "Report")
    try workflow.add(user)
    try workflow.add(project, prerequisites: user)
    try workflow.add(render, prerequisites: user, project)
    let outcome = try await workflow.run()

    #expect(outcome.isFinished)
    #expect(project.result == Project(owner: User(name: "Ada")))
    #expect(render.result?.text == "Report for Ada")
  }

  @Test("A typed key")
  func typedKey() async throws {
    let workflow = Workflow()
    let sent = Log<Report>()
    @Sendable func send(_ report: Report) { sent.append(report) }
    let user = try workflow.add(BlockWorkflowTask<User> { $0.finish(with: User(name: "Ada")) })
    let render = try workflow.add(Render(user: user), prerequisites: user)

    let reportKey = PrerequisiteKey<Report>("report")
    let mail = BlockWorkflowTask<Void>(name: "mail") { task in
      do {
        send(try task.result(forKey: reportKey))
        task.finish()
      } catch {
        task.fail(with: error)
      }
    }
    try workflow.add(mail, keyedPrerequisites: [reportKey.named: render])

    #expect(try await workflow.run().isFinished)
    #expect(sent.entries.map(\.text) == ["Report for Ada"])
  }

  @Test("A policy for retries")
  func retryPolicy() {
    let upload = AsyncWorkflowTask<Void>(name: "upload") { _ in }
    upload.retryPolicy = TaskRetryPolicy(attempts: 3, delay: .exponential(from: .seconds(1)))
    #expect(upload.retryPolicy?.attempts == 3)
  }

  @Test("An external condition")
  func externalCondition() async throws {
    let workflow = Workflow()
    let publish = AsyncWorkflowTask<Void>(name: "publish") { _ in }

    let approval = ExternalConditionTask<Approval>(name: "approval")
    try workflow.add(approval)
    try workflow.add(publish, prerequisites: approval)
    workflow.start()
    approval.fulfill(with: Approval(by: "me"))

    try await publish.future.value
    #expect(approval.result?.by == "me")
  }

  @Test("Futures, methods and operations as work")
  func bridges() async throws {
    let controller = Controller()
    let queue = queue(slots: 2)
    let pages = [640, 480]

    let page = FutureWorkflowTask<Data>(name: "page") { _ in fetch(url) }
    let mapping = MethodWorkflowTask(name: "map", target: controller, method: Controller.map)
    let thumbnails = OperationWorkflowTask(name: "thumbnails", on: queue) { _ in
      RenderOperation(pages: pages)
    } result: { operation in
      try operation.images()
    }

    let workflow = Workflow()
    try workflow.add(page)
    try workflow.add(mapping)
    try workflow.add(thumbnails)
    #expect(try await workflow.run().isFinished)
    #expect(page.result?.count == 11)
    #expect(mapping.result == 3)
    #expect(thumbnails.result == [Picture(width: 640), Picture(width: 480)])
  }

  @Test("A workflow in a workflow")
  func subworkflow() async throws {
    let workflow = Workflow()
    let image = try workflow.add(BlockWorkflowTask<Int> { $0.finish(with: 1) })
    let filterWorkflow = Workflow(name: "Filter")
    let blur = try filterWorkflow.add(BlockWorkflowTask<Int> { $0.finish(with: 2) })

    let filter = SubworkflowTask(name: "filter", subworkflow: filterWorkflow)
    try workflow.add(filter, prerequisites: image)

    #expect(try await workflow.run().isFinished)
    #expect(filter.result === filterWorkflow)
    #expect(blur.result == 2)
  }
}
