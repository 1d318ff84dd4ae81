import Foundation
import Futures
import TestSupport
import Testing
import Workflows

private struct User: Sendable, Equatable { let name: String }
private struct Project: Sendable, Equatable { let owner: User }
private struct Approval: Sendable { let by: String }
private struct Report: Sendable, Equatable { let text: String }

private struct API: Sendable {
  func loadUser(_ handler: @escaping @Sendable (Result<User, any Error>) -> Void) {
    DispatchQueue.global().async { handler(.success(User(name: "Ada"))) }
  }
  func project(of user: User) async throws -> Project { Project(owner: user) }
}

private final class Render: WorkflowTask<Report>, @unchecked Sendable {
  private let user: WorkflowTask<User>
  private let project: WorkflowTask<Project>

  init(user: WorkflowTask<User>, project: WorkflowTask<Project>) {
    self.user = user
    self.project = project
    super.init(name: "render")
  }

  override func main() {
    do {
      finish(with: try render(result(of: user), result(of: project)))
    } catch {
      fail(with: error)
    }
  }

  private func render(_ user: User, _ project: Project) throws -> Report {
    Report(text: "\(user.name): \(project.owner.name)")
  }
}

@Suite("The call sites of the specification", .timeLimit(.minutes(5)), .oneAtATime)
struct CallSiteTests {
  @Test("compile without annotations and do what they say")
  func callSites() async throws {
    let api = API()
    let workflow = Workflow(name: "Report")
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
    let approval = ExternalConditionTask<Approval>(name: "approval")
    let render = Render(user: user, project: project)

    try workflow.add(user)
    try workflow.add(project, prerequisites: user)
    try workflow.add(approval)
    try workflow.add(render, prerequisites: user, project, approval)
    let mail = BlockWorkflowTask<String>(name: "mail") { task in
      task.finish(with: (task.prerequisiteResult(forKey: "report") as? Report)?.text ?? "none")
    }
    try workflow.add(mail, keyedPrerequisites: ["report": render])
    let key = PrerequisiteKey<Report>("report")
    let archive = AsyncWorkflowTask<Report>(name: "archive") { task in
      try task.result(forKey: key)
    }
    try workflow.add(archive, prerequisites: user, keyedPrerequisites: [key.named: render])
    let last = WorkflowTask<Void>(name: "last")
    try workflow.add(last, prerequisites: [user, project])

    let events = workflow.events
    workflow.start()
    approval.fulfill(with: Approval(by: "me"))
    let outcome = try await workflow.run()
    guard case .finished = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(mail.result == "Ada: Ada")
    #expect(archive.result == Report(text: "Ada: Ada"))
    #expect(user.state == .finished)
    #expect(user.error == nil)
    #expect(user.finishDate != nil)
    #expect(render.prerequisiteTasks == [user, project, approval])
    #expect(user.dependentTasks == [project, render, archive, last])
    #expect(render.anyPrerequisiteResult as? User == User(name: "Ada"))
    #expect(render.allPrerequisiteResults.count == 3)
    #expect(render.prerequisiteResult(forKey: "report") == nil)
    #expect(!workflow.hasUnfinishedTasks)
    #expect(!workflow.hasFailedTasks)
    #expect(workflow.allTasks.count == 7)
    #expect(workflow.tasksWithNoPrerequisiteTasks == [user, approval])
    #expect(workflow.tasksWithNoDependentTasks == [mail, archive, last])
    #expect(workflow.progress.fractionCompleted == 1)
    #expect(!workflow.dot.isEmpty && !workflow.mermaid.isEmpty && !workflow.trace.isEmpty)

    user.cancel()
    user.retry()
    user.reset()
    workflow.cancel()
    workflow.retry()
    workflow.reset()
    var finishes = 0
    for await event in events {
      if case .workflowDidFinish = event { finishes += 1 }
      if case .workflowWillReset = event { break }
    }
    #expect(finishes >= 1)
  }

  @Test("make workflows on queues, contexts and centers")
  func workflows() {
    let queue = OperationQueue()
    queue.name = "mine"
    let center = NotificationCenter()
    #expect(Workflow().operationQueue != nil)
    #expect(Workflow(name: "a", operationQueue: queue).operationQueue === queue)
    #expect(Workflow(operationQueue: queue).operationQueue?.name == "mine")
    #expect(Workflow(name: "b", context: .inline).operationQueue == nil)
    #expect(Workflow(name: "c", notificationCenter: center).notificationCenter === center)
    #expect(
      Workflow(name: "d", context: .global(), notificationCenter: center).notificationCenter
        === center)
  }
}
