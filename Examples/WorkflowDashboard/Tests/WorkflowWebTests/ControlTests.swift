import Foundation
import Properations
import TestSupport
import Testing
import WorkflowWeb

/// What buttons do, and what is refused.
@Suite("Control over HTTP", .timeLimit(.minutes(1)))
struct ControlTests {
  @Test("The run is started, paused, resumed, cancelled, retried and reset")
  func run() async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      for (action, states, paused) in [
        ("pause", ["ready", "pending", "pending"], true),
        ("resume", ["ready", "pending", "pending"], false),
        ("start", ["executing", "pending", "pending"], false),
        ("cancel", ["cancelled", "cancelled", "cancelled"], false),
        ("retry", ["executing", "pending", "pending"], false),
        ("reset", ["ready", "pending", "pending"], false),
      ] {
        let answer = try await visitor.post("/api/workflows/report", "{\"action\":\"\(action)\"}")
        #expect(answer.status == 200, "\(action): \(answer.body)")
        #expect(report.workflow.allTasks.map(\.state.description).map { $0.lowercased() } == states)
        #expect(report.workflow.isPaused == paused)
      }
    }
  }

  @Test("A task is started, fulfilled, reset and cancelled")
  func task() async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      func act(_ task: Int, _ body: String) async throws -> Int {
        try await visitor.post("/api/workflows/report/tasks/\(task)", body).status
      }
      var status = try await act(0, #"{"action":"start"}"#)
      #expect(status == 200)
      #expect(report.approval.isExecuting)
      status = try await act(0, #"{"action":"fulfill","value":"Grace \"the\" Admiral"}"#)
      #expect(status == 200)
      #expect(report.approval.result == "Grace \"the\" Admiral")
      status = try await act(0, #"{"action":"reset"}"#)
      #expect(status == 200)
      #expect(report.approval.isReady)
      status = try await act(2, #"{"action":"cancel"}"#)
      #expect(status == 200)
      #expect(report.mail.isCancelled)
    }
  }

  @Test("A failed task is retried, and its dependents follow")
  func retry() async throws {
    let report = try Report(failures: 2)
    try await withDashboard(showing: report.workflow) { _, visitor in
      let outcome = report.workflow.start()
      report.approval.fulfill(with: "Ada")
      #expect(await outcome.completion.successValue?.isFinished == false)
      let answer = try await visitor.post(
        "/api/workflows/report/tasks/1", #"{"action":"retry"}"#)
      #expect(answer.status == 200)
      // The attempts count anew, so the text fails again twice.
      _ = await report.text.future.completion
      #expect(report.text.isFailed)
      #expect(report.text.failedAttempts.count == 1)
    }
  }

  @Test("Values of other types are JSON; text that is none changes nothing")
  func values() async throws {
    let workflow = Workflow(name: "Values", context: .inline)
    let number = ExternalConditionTask<Int>(name: "number", waitsForFulfillment: true)
    let nothing = ExternalConditionTask<Void>(name: "nothing", waitsForFulfillment: true)
    let closure = ExternalConditionTask<@Sendable () -> Void>(
      name: "closure", waitsForFulfillment: true)
    try workflow.add(number)
    try workflow.add(nothing)
    try workflow.add(closure)
    try await withDashboard(showing: workflow) { _, visitor in
      func fulfill(_ task: Int, _ value: String) async throws -> Int {
        try await visitor.post(
          "/api/workflows/values/tasks/\(task)", #"{"action":"fulfill","value":"\#(value)"}"#
        ).status
      }
      var status = try await fulfill(0, "seven")
      #expect(status == 400)
      #expect(!number.isFulfilled)
      status = try await fulfill(0, "7")
      #expect(status == 200)
      #expect(number.result == 7)
      status = try await fulfill(0, "8")
      #expect(status == 409)
      #expect(number.result == 7)
      status = try await fulfill(1, "")
      #expect(status == 200)
      #expect(nothing.isFinished)
      status = try await fulfill(2, "{}")
      #expect(status == 409)
      #expect(!closure.isFulfilled)
    }
  }

  @Test("The application converts values, and its errors are told")
  func ownValues() async throws {
    let report = try Report()
    var presentation = WorkflowPresentation()
    presentation.fulfill = { task, text in
      guard let task = task as? ExternalConditionTask<String> else { return nil }
      guard text.count < 5 else { throw Planned(description: "too long") }
      return task.fulfill(with: text.uppercased())
    }
    try await withDashboard { dashboard, visitor in
      dashboard.show(report.workflow, as: "r", presentation)
      let path = "/api/workflows/r/tasks/0"
      var answer = try await visitor.post(path, #"{"action":"fulfill","value":"Augusta"}"#)
      #expect(answer.status == 400)
      #expect(answer.body.contains("too long"))
      #expect(!report.approval.isFulfilled)
      answer = try await visitor.post(path, #"{"action":"fulfill","value":"Ada"}"#)
      #expect(answer.status == 200)
      #expect(report.approval.result == "ADA")
    }
  }

  @Test(
    "An action that is not possible in the state is refused and changes nothing",
    arguments: [
      ("/api/workflows/report", "retry"), ("/api/workflows/report", "resume"),
      ("/api/workflows/report", "reset"), ("/api/workflows/report/tasks/0", "retry"),
      ("/api/workflows/report/tasks/1", "start"), ("/api/workflows/report/tasks/1", "fulfill"),
      ("/api/workflows/report/tasks/2", "reset"),
    ])
  func illegal(path: String, action: String) async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      let before = try await visitor.picture(of: "report")
      let answer = try await visitor.post(path, "{\"action\":\"\(action)\"}")
      #expect(answer.status == 409)
      #expect(answer.body.contains(action))
      let after = try await visitor.picture(of: "report")
      #expect(after.tasks == before.tasks)
      #expect(after.run == before.run)
    }
  }

  @Test("A workflow that is only shown has no actions and takes none")
  func readOnly() async throws {
    let report = try Report()
    var presentation = WorkflowPresentation()
    presentation.isReadOnly = true
    try await withDashboard { dashboard, visitor in
      dashboard.show(report.workflow, as: "r", presentation)
      let picture = try await visitor.picture(of: "r")
      #expect(picture.run.actions.isEmpty)
      #expect(picture.tasks.allSatisfy { $0.actions.isEmpty })
      let answer = try await visitor.post("/api/workflows/r", #"{"action":"start"}"#)
      #expect(answer.status == 409)
      #expect(!report.approval.isExecuting)
    }
  }

  @Test("An offered workflow is made once for each argument; an error of the maker is told")
  func offers() async throws {
    try await withDashboard { dashboard, visitor in
      dashboard.offer(
        WorkflowOffer(id: "seeded", title: "Seeded", example: "1") { argument in
          guard Int(argument) != nil else { throw Planned(description: "no number") }
          return WorkflowOffer.Made(Workflow(name: "Seed \(argument)", context: .inline))
        })
      func make(_ argument: String) async throws -> Conversation.Answer {
        try await visitor.post(
          "/api/workflows", "{\"offer\":\"seeded\",\"argument\":\"\(argument)\"}")
      }
      var answer = try await make("7")
      #expect(answer.status == 201)
      #expect(answer.body == #"{"id":"seeded-7"}"#)
      answer = try await make("7")
      #expect(answer.status == 200)
      answer = try await make("seven")
      #expect(answer.status == 400)
      #expect(answer.body.contains("no number"))
      let list = try await visitor.get("/api/workflows")
      #expect(list.body.contains(#""name":"Seed 7""#))
      #expect(list.body.contains(#""title":"Seeded""#))
      // A page cannot fill the memory.
      for number in 100..<140 { answer = try await make("\(number)") }
      #expect(answer.status == 429)
    }
  }
}
