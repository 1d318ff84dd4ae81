import Foundation
import Properations
import TestSupport
import Testing

// The snippets of the documentation comments in `Sources/Workflows`.

private struct User: Sendable, Equatable { var name = "Ada" }
private struct Project: Sendable, Equatable { let owner: User }
private struct Approval: Sendable { let by: String }
private struct Report: Sendable, Equatable {
  let owner: User
  init(for owner: User, _ project: Project? = nil) { self.owner = owner }
}

private struct API: Sendable {
  func loadUser(_ handler: @escaping @Sendable (Result<User, any Error>) -> Void) {
    DispatchQueue.global().async { handler(.success(User())) }
  }
  func user() async throws -> User { User() }
  func project(of user: User) async throws -> Project { Project(owner: user) }
}

private let api = API()

private enum Rendering {
  final class Render: WorkflowTask<Report>, @unchecked Sendable {
    private let user: WorkflowTask<User>

    init(user: WorkflowTask<User>) {
      self.user = user
      super.init(name: "render")
    }

    override func main(_ run: TaskWork<Report>) {
      run.end(with: Result { try Report(for: run.result(of: user)) })
    }
  }
}

private typealias Render = Rendering.Render

private final class RenderOperation: Operation, @unchecked Sendable {
  // Sendable: its one property never changes.
  private let pages: [Int]
  init(pages: [Int]) { self.pages = pages }
  func images() throws -> [Picture] { pages.map { Picture(width: $0) } }
}

private final class Controller: Sendable {
  func map(_ task: TaskWork<String>) { task.finish(with: "mapped") }
}

private func someUser() -> BlockWorkflowTask<User> {
  let user = BlockWorkflowTask<User>(name: "user") { task in
    api.loadUser { result in
      switch result {
      case .success(let user): task.finish(with: user)
      case .failure(let error): task.fail(with: error)
      }
    }
  }
  return user
}

@Suite("Comments of Workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct WorkflowsComments {
  @Test("A task that is skipped")
  func skipped() async throws {
    struct Report: Sendable { let hasErrors: Bool }
    let workflow = Workflow(name: "Alert")
    @Sendable func makeReport() throws -> Report { Report(hasErrors: false) }
    @Sendable func sendAlert(about report: Report) throws {}

    let report = try workflow.add("report") { try makeReport() }
    try workflow.add("alert", after: report) { report in
      guard report.hasErrors else { throw TaskSkipped() }
      try sendAlert(about: report)
    }

    #expect(try await workflow.run().isFinished)
    #expect(report.dependentTasks.map(\.isSkipped) == [true])
  }

  @Test("A task that cleans up")
  func cleanUp() async throws {
    let (workflow, lines) = (Workflow(name: "Clean up"), Log<String>())
    @Sendable func send(_ report: String) async throws { throw TestError.first }
    @Sendable func log(_ text: String) { lines.append(text) }
    @Sendable func removeTemporaryFiles() { lines.append("removed") }
    let report = try workflow.add("report") { "report" }

    let upload = try workflow.add("upload", after: report) { report in try await send(report) }
    try workflow.add("clean up", after: upload, when: .whenAllDone) { upload in
      if case .failure(let error) = upload { log("not sent: \(error)") }
      removeTemporaryFiles()
    }

    #expect(try await workflow.run() == .failed([upload: TestError.first]))
    #expect(lines.entries == ["not sent: first", "removed"])
  }

  @Test("Workflow: tasks after those that they wait for")
  func workflow() async throws {
    let workflow = Workflow(name: "Report")
    let user = try workflow.add("user") { try await api.user() }
    let project = try workflow.add("project", after: user) { try await api.project(of: $0) }
    let render = try workflow.add("render", after: user, project) { user, project in
      Report(for: user, project)
    }
    let outcome = try await workflow.run()
    #expect(outcome.isFinished && project.result == Project(owner: User()))
    #expect(render.result == Report(for: User()))
  }

  @Test("AsyncWorkflowTask: a task that is made before it is added")
  func madeBefore() async throws {
    let user = someUser()
    let project = AsyncWorkflowTask<Project>(name: "project") { task in
      try await api.project(of: task.result(of: user))
    }
    let render = Render(user: user)

    let workflow = Workflow(name: "Report")
    try workflow.add(user)
    try workflow.add(project, prerequisites: user)
    try workflow.add(render, prerequisites: user, project)
    #expect(try await workflow.run().isFinished)
    #expect(project.result == Project(owner: User()) && render.result == Report(for: User()))
  }

  @Test("Workflow.add: inputs of their types")
  func inputs() async throws {
    let (workflow, sent) = (Workflow(name: "Inputs"), Log<String>())
    @Sendable func count(_ author: String) async throws -> Int { author.count }
    @Sendable func send(_ report: String, isRepeated: Bool) throws { sent.append(report) }

    let author = try workflow.add("author") { "Ada" }
    let pages = try workflow.add("pages", after: author) { author in try await count(author) }
    let report = try workflow.add("report", after: author, pages) { author, pages in
      "\(pages) pages by \(author)"
    }
    let upload = try workflow.add(
      "upload", after: report,
      run: { run, report in
        try send(report, isRepeated: run.attempt > 1)
      })
    #expect(try await workflow.run().isFinished)
    #expect(sent.entries == ["3 pages by Ada"] && upload.isFinished)
  }

  @Test("Workflow.add: inputs of an array of tasks")
  func arrays() async throws {
    let (workflow, files) = (Workflow(name: "Lines"), urls)
    @Sendable func countLines(of file: URL) throws -> Int { file.path.count }

    let shards = try files.map { file in
      try workflow.add(file.lastPathComponent) { try countLines(of: file) }
    }
    let sum = try workflow.add("sum", after: shards) { counts in counts.reduce(0, +) }
    #expect(try await workflow.run().isFinished)
    #expect(sum.result == files.reduce(0) { $0 + $1.path.count })
  }

  @Test("Workflow.limit: a named group of tasks")
  func limit() async throws {
    let workflow = Workflow(name: "Pages")
    let pages = try urls.map { url in try workflow.add(url.path) { url.path.count } }
    workflow.limit("network", to: 4)
    for page in pages { page.limitName = "network" }
    #expect(try await workflow.run().isFinished)
  }

  @MainActor
  private final class View: WorkflowDelegate {
    let end = Event()
    nonisolated func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
      MainActor.assumeIsolated { end.signal() }
    }
  }

  @Test("Workflow.setDelegate: a view")
  func delegate() async throws {
    let (workflow, view) = (Workflow(name: "Shown"), View())
    workflow.setDelegate(view, on: .main)
    #expect(try await workflow.run().isFinished)
    #expect(await view.end.opened())
  }

  @MainActor
  private final class Spinner {
    let end = Event()
    var isTurning = false { didSet { if !isTurning { end.signal() } } }
  }

  private final class Download: WorkflowTask<Int>, @unchecked Sendable {
    // Sendable: nothing changes after init.
    private let spinner: Spinner
    init(showing spinner: Spinner) {
      self.spinner = spinner
      super.init(name: "download")
    }
    override func main(_ run: TaskWork<Int>) { run.finish(with: 1) }
    override func didStart() { MainActor.assumeIsolated { spinner.isTurning = true } }
    override func didFinish(with result: Int) {
      MainActor.assumeIsolated { spinner.isTurning = false }
    }
  }

  @Test("AnyWorkflowTask.callHooks: a spinner")
  func hooks() async throws {
    let (workflow, spinner) = (Workflow(name: "Shown"), Spinner())
    let download = Download(showing: spinner)
    download.callHooks(on: .main)
    try workflow.add(download)
    #expect(try await workflow.run().isFinished)
    #expect(await spinner.end.opened())
  }

  @Test("PrerequisiteKey: results by key")
  func key() async throws {
    let workflow = Workflow(name: "Mail")
    let (sent, user) = (Log<Report>(), someUser())
    let render = Render(user: user)
    try workflow.add(user)
    try workflow.add(render, prerequisites: user)
    let send: @Sendable (Report) -> Void = { sent.append($0) }

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
    #expect(sent.entries == [Report(for: User())])
  }

  @Test("A policy of a task: three attempts")
  func retry() async throws {
    let upload = BlockWorkflowTask<Int>(name: "upload") { $0.finish(with: 1) }
    upload.retryPolicy = RetryPolicy(attempts: 3, delay: .exponential(.seconds(1)))
    #expect(upload.retryPolicy?.attempts == 3)
  }

  @Test("MethodWorkflowTask: a method of an object")
  func method() async throws {
    let controller = Controller()
    let mapping = MethodWorkflowTask(name: "map", target: controller, method: Controller.map)
    let workflow = Workflow(name: "Map")
    try workflow.add(mapping)
    #expect(try await workflow.run().isFinished)
    #expect(mapping.result == "mapped")
  }

  @Test("FutureWorkflowTask and OperationWorkflowTask: other people's work")
  func bridges() async throws {
    let (queue, pages) = (OperationQueue(), [1, 2])
    let page = FutureWorkflowTask<Data>(name: "page") { _ in fetch(url) }
    let thumbnails = OperationWorkflowTask(name: "thumbnails", in: queue) { _ in
      RenderOperation(pages: pages)
    } result: { operation in
      try operation.images()
    }
    let workflow = Workflow(name: "Bridges")
    try workflow.add(page)
    try workflow.add(thumbnails)
    #expect(try await workflow.run().isFinished)
    #expect(page.result == Data(url.path.utf8) && thumbnails.result?.count == 2)
  }

  @Test("ExternalConditionTask: an approval")
  func condition() async throws {
    let workflow = Workflow(name: "Publish")
    let publish = BlockWorkflowTask<Int>(name: "publish") { $0.finish(with: 1) }

    let approval = ExternalConditionTask<Approval>(name: "approval")
    try workflow.add(approval)
    try workflow.add(publish, prerequisites: approval)
    workflow.start()
    approval.fulfill(with: Approval(by: "me"))
    #expect(try await publish.future.value == 1)
  }

  @Test("SubworkflowTask: a workflow as a step")
  func subworkflow() async throws {
    let (workflow, filterWorkflow) = (Workflow(name: "Image"), Workflow(name: "Filter"))
    let image = try workflow.add(BlockWorkflowTask<Int>(name: "image") { $0.finish(with: 1) })
    try filterWorkflow.add(BlockWorkflowTask<Int>(name: "blur") { $0.finish(with: 1) })

    let filter = SubworkflowTask(name: "filter", subworkflow: filterWorkflow)
    try workflow.add(filter, prerequisites: image)
    #expect(try await workflow.run().isFinished)
    #expect(filter.result === filterWorkflow)
  }
}
