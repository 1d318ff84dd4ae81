import Foundation
import Properations
import TestSupport
import Testing
import WorkflowWeb

/// What pages get to see.
@Suite("Pictures of workflows", .timeLimit(.minutes(1)))
struct PictureTests {
  @Test("A picture has the tasks with their names, states, prerequisites and actions")
  func whole() async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      let picture = try await visitor.picture(of: "report")
      #expect(picture.isWhole)
      #expect(picture.name == "Report")
      #expect(picture.tasks.map(\.name) == ["approval", "text", "mail"])
      #expect(picture.tasks.map(\.state) == ["ready", "pending", "pending"])
      #expect(picture.tasks.map(\.prerequisites) == [[], ["0"], ["1"]])
      #expect(picture.tasks[0].kind == .condition)
      #expect(picture.tasks[0].actions == [.fulfill, .start, .cancel])
      #expect(picture.tasks[1].actions == [.cancel])
      #expect(picture.run.phase == .idle)
      #expect(picture.run.actions == [.start, .pause, .cancel])
    }
  }

  @Test("Events begin with a whole picture, and end with the outcome and the critical path")
  func live() async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      async let heard = visitor.events(of: "report") { $0.last?.run.phase == .finished }
      let started = try await visitor.events(of: "report") { !$0.isEmpty }
      #expect(started.pictures.first?.isWhole == true)
      let outcome = report.workflow.start()
      report.approval.fulfill(with: "Ada")
      #expect(await outcome.completion.successValue == .finished)
      let pictures = try await heard.pictures
      #expect(pictures.first?.isWhole == true)
      #expect(pictures.dropFirst().allSatisfy { !$0.isWhole })
      let last = try #require(pictures.last)
      #expect(last.run.outcome == "finished")
      #expect(Set(last.run.criticalPath).isSubset(of: ["0", "1", "2"]))
      #expect(!last.run.criticalPath.isEmpty)
      #expect(last.run.actions == [.reset])
    }
  }

  @Test("A page that was away gets exactly what has changed since")
  func catchUp() async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      let before = try await visitor.events(of: "report") { !$0.isEmpty }
      let outcome = report.workflow.start()
      report.approval.fulfill(with: "Ada")
      _ = try await outcome.value
      let after = try await visitor.events(of: "report", after: before.last) {
        $0.last?.run.phase == .finished
      }
      #expect(after.pictures.allSatisfy { !$0.isWhole })
      let last = try #require(after.pictures.last)
      let again = try await visitor.events(of: "report", after: after.last) { _ in true }
      #expect(again.pictures.isEmpty)
      #expect(last.tasks.allSatisfy { $0.state == "finished" })
    }
  }

  @Test(
    "A page with a position of another run of the program gets a whole picture",
    arguments: ["", "zzz-1-1", "1", "--", "a-b-c", "zzz-1--5", "99999999999999999999-1-1"])
  func strangePosition(_ position: String) async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      let heard = try await visitor.events(of: "report", after: position) { !$0.isEmpty }
      #expect(heard.pictures.first?.isWhole == true)
    }
  }

  @Test("The stream of a page that goes ends, and makes room for another page")
  func goneStreams() async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      let request = visitor.request("GET", "/api/workflows/report/events", body: nil)
      var pages: [Conversation] = []
      while true {
        let page = try Conversation(port: visitor.port)
        try await page.say(request)
        let heard = try await page.hear { $0.contains("data: ") || $0.contains("error") }
        pages.append(page)
        guard heard.hasPrefix("HTTP/1.1 200 ") else {
          #expect(heard.hasPrefix("HTTP/1.1 429 "))
          break
        }
      }
      pages.removeAll()
      // Nothing happens in the workflow meanwhile.
      var hasRoom = false
      while !hasRoom {
        let page = try Conversation(port: visitor.port)
        try await page.say(request)
        hasRoom = try await page.hear { $0.contains("data: ") || $0.contains("error") }
          .hasPrefix("HTTP/1.1 200 ")
      }
    }
  }

  @Test("A dashboard that stops ends the streams of its pages")
  func stopped() async throws {
    let report = try Report()
    let dashboard = try await Dashboard(showing: report.workflow)
    let visitor = Visitor(to: dashboard)
    let page = try Conversation(port: visitor.port)
    try await page.say(visitor.request("GET", "/api/workflows/report/events", body: nil))
    _ = try await page.hear { $0.contains("data: ") }
    async let rest = page.hearAll()
    await dashboard.stop()
    #expect(try await rest.contains("data: ") == false)
    #expect(throws: Conversation.Silence.self) { try Conversation(port: visitor.port) }
  }

  @Test("A dashboard may stop while pages connect")
  func stoppedMeanwhile() async throws {
    for _ in 0..<20 {
      let dashboard = try await Dashboard()
      let visitor = Visitor(to: dashboard)
      try await withThrowingTaskGroup(of: Void.self) { group in
        let first = Event()
        for _ in 0..<4 {
          group.addTask {
            // Until the server listens no more.
            while let page = try? Conversation(port: visitor.port) {
              try await page.say(visitor.request("GET", "/api/workflows", body: nil))
              first.signal()
            }
          }
        }
        #expect(await first.opened())
        await dashboard.stop()
        try await group.waitForAll()
      }
    }
  }

  @Test("A burst of changes is told in few events, and the last one is complete")
  func burst() async throws {
    let workflow = Workflow(name: "burst", context: .inline)
    for number in 0..<2000 { try workflow.add("\(number)", on: .inline) {} }
    try await withDashboard(showing: workflow) { _, visitor in
      let before = try await visitor.events(of: "burst") { !$0.isEmpty }
      let began = ContinuousClock.now
      async let heard = visitor.events(of: "burst", after: before.last) {
        $0.last?.run.phase == .finished
      }
      #expect(await workflow.start().completion.successValue == .finished)
      let pictures = try await heard.pictures
      // Each task starts and finishes: 4,000 changes. At most twenty events come in a second.
      let seconds = (ContinuousClock.now - began) / .seconds(1)
      #expect(Double(pictures.count) <= seconds * 20 + 2)
      var states: [String: String] = [:]
      for picture in pictures { states.merge(picture.states) { $1 } }
      #expect(states.count == 2000)
      #expect(states.values.allSatisfy { $0 == "finished" })
    }
  }

  @Test("The history has every attempt with its error")
  func attempts() async throws {
    let report = try Report(failures: 1)
    try await withDashboard(showing: report.workflow) { _, visitor in
      _ = try await visitor.picture(of: "report")
      let outcome = report.workflow.start()
      report.approval.fulfill(with: "Ada")
      #expect(await outcome.completion.successValue == .finished)
      _ = try await visitor.events(of: "report") { $0.last?.run.phase == .finished }
      let whole = try await visitor.picture(of: "report")
      let entry = try #require(whole.tasks.first { $0.name == "text" })
      #expect(entry.attempts == 2)
      #expect(entry.history.map(\.state).filter { $0 == "executing" }.count == 2)
      #expect(entry.history.contains { $0.error == "attempt 1" })
      let times = entry.history.map(\.at)
      #expect(times == times.sorted())
    }
  }

  @Test("A failure has its text, and the run its sentence")
  func failure() async throws {
    let report = try Report(failures: 2)
    try await withDashboard(showing: report.workflow) { _, visitor in
      let outcome = report.workflow.start()
      report.approval.fulfill(with: "Ada")
      #expect(await outcome.completion.successValue?.isFinished == false)
      _ = try await visitor.events(of: "report") { $0.last?.run.phase == .failed }
      let picture = try await visitor.picture(of: "report")
      #expect(picture.states == ["approval": "finished", "text": "failed", "mail": "pending"])
      #expect(picture.tasks[1].error == "attempt 2")
      #expect(picture.tasks[1].actions == [.retry, .reset])
      #expect(picture.run.outcome?.hasPrefix("failed: text") == true)
      #expect(picture.run.actions.contains(.retry))
    }
  }

  @Test("Tasks of a workflow inside follow the task around them, and change its progress")
  func inner() async throws {
    let inner = Workflow(name: "Inner", context: .inline)
    let first = try inner.add("first", on: .inline) {}
    let second = ExternalConditionTask<Void>(name: "second", waitsForFulfillment: true)
    try inner.add(second, prerequisites: first)
    let outer = Workflow(name: "Outer", context: .inline)
    let around = SubworkflowTask(name: "around", subworkflow: inner)
    try outer.add(around)
    try outer.add("last", after: around, on: .inline) { _ in }
    try await withDashboard(showing: outer) { _, visitor in
      outer.start()
      let heard = try await visitor.events(of: "outer") { pictures in
        pictures.contains { $0.tasks.contains { $0.name == "around" && $0.progress == 0.5 } }
      }
      let tasks = try #require(heard.pictures.first).tasks
      #expect(tasks.map(\.id) == ["0", "0.0", "0.1", "1"])
      #expect(tasks.map(\.parent) == [nil, "0", "0", nil])
      #expect(tasks[0].kind == .subworkflow)
      #expect(tasks[3].prerequisites == ["0"])
      let answer = try await visitor.post(
        "/api/workflows/outer/tasks/0.1", #"{"action":"fulfill"}"#)
      #expect(answer.status == 200)
      _ = try await visitor.events(of: "outer") { $0.last?.run.phase == .finished }
    }
  }

  @Test("The critical path goes on inside a task around a workflow, at any depth")
  func criticalPathInside() async throws {
    let gate = Promises.make(promising: Void.self)
    let innermost = Workflow(name: "Innermost", context: .inline)
    let slow = AsyncWorkflowTask<Void>(name: "slow") { _ in try await gate.value }
    try innermost.add(slow)
    try innermost.add("quick", on: .inline) {}
    try innermost.add("end", after: slow, on: .inline) { _ in }
    let inner = Workflow(name: "Inner", context: .inline)
    try inner.add(SubworkflowTask(name: "deep", subworkflow: innermost))
    try inner.add("aside", on: .inline) {}
    let outer = Workflow(name: "Outer", context: .inline)
    let around = SubworkflowTask(name: "around", subworkflow: inner)
    try outer.add(around)
    try outer.add("beside", on: .inline) {}
    try outer.add("last", after: around, on: .inline) { _ in }
    try await withDashboard(showing: outer) { _, visitor in
      _ = try await visitor.picture(of: "outer")
      outer.start()
      // The slow task and the tasks around it began first and end after the others, so no
      // other chain can take as long.
      _ = try await visitor.events(of: "outer") { pictures in
        var states: [String: String] = [:]
        for picture in pictures { states.merge(picture.states) { $1 } }
        return ["quick", "aside", "beside"].allSatisfy { states[$0] == "finished" }
      }
      gate.succeed()
      let heard = try await visitor.events(of: "outer") { $0.last?.run.phase == .finished }
      let last = try #require(heard.pictures.last)
      #expect(last.run.criticalPath == ["0", "0.0", "0.0.0", "0.0.2", "2"])
    }
  }

  @Test("The critical path of a failed run ends inside, at the task that has failed")
  func criticalPathToFailure() async throws {
    let inner = Workflow(name: "Inner", context: .inline)
    let first = try inner.add("first", on: .inline) {}
    let second = try inner.add(
      "second", after: first, on: .inline, run: { _, _ in throw Planned(description: "always") })
    try inner.add("third", after: second, on: .inline) { _ in }
    let outer = Workflow(name: "Outer", context: .inline)
    let around = SubworkflowTask(name: "around", subworkflow: inner)
    try outer.add(around)
    let unreached = Workflow(name: "Unreached", context: .inline)
    try unreached.add("fourth", on: .inline) {}
    try outer.add(
      SubworkflowTask(name: "later", subworkflow: unreached), prerequisites: around)
    try await withDashboard(showing: outer) { _, visitor in
      _ = try await visitor.picture(of: "outer")
      outer.start()
      let heard = try await visitor.events(of: "outer") { $0.last?.run.phase == .failed }
      #expect(heard.pictures.last?.run.criticalPath == ["0", "0.0", "0.1"])
    }
  }

  @Test("A task that is added later appears, with another graph")
  func growing() async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      let before = try await visitor.events(of: "report") { !$0.isEmpty }
      try report.workflow.add("copy", after: report.text, on: .inline) { _ in }
      report.workflow.start()
      let after = try await visitor.events(of: "report", after: before.last) {
        $0.contains { $0.isWhole }
      }
      let whole = try #require(after.pictures.first { $0.isWhole })
      #expect(whole.tasks.map(\.name) == ["approval", "text", "mail", "copy"])
      #expect(whole.graph > before.pictures[0].graph)
      report.workflow.cancel()
    }
  }

  @Test("A presentation adds progress and results")
  func presentation() async throws {
    let report = try Report()
    var presentation = WorkflowPresentation()
    presentation.progress = { $0.name == "approval" ? 0.25 : nil }
    presentation.result = { $0.anyResult.map { "\($0)" } }
    try await withDashboard { dashboard, visitor in
      let id = dashboard.show(report.workflow, as: "mine", presentation)
      #expect(id == "mine")
      let outcome = report.workflow.start()
      let running = try await visitor.events(of: "mine") { pictures in
        pictures.contains { $0.tasks.contains { $0.progress == 0.25 } }
      }
      #expect(!running.pictures.isEmpty)
      report.approval.fulfill(with: "Ada")
      _ = try await outcome.value
      _ = try await visitor.events(of: "mine") { $0.last?.run.phase == .finished }
      let picture = try await visitor.picture(of: "mine")
      #expect(picture.tasks[1].result == "by Ada")
    }
  }

  @Test("Workflows of the same name get identifiers of their own")
  func identifiers() async throws {
    try await withDashboard { dashboard, visitor in
      let names = ["Build / all", "build-all", "../..", "🦊", ""]
      let workflows = names.map { Workflow(name: $0, context: .inline) }
      let ids = workflows.map { dashboard.show($0) }
      #expect(ids == ["build-all", "build-all-2", "workflow", "workflow-2", "workflow-3"])
      for (id, name) in zip(ids, names) {
        let picture = try await visitor.picture(of: id)
        #expect(picture.name == name)
      }
      dashboard.hide("workflow")
      let answer = try await visitor.get("/api/workflows/workflow")
      #expect(answer.status == 404)
    }
  }
}
