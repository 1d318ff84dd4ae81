import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Drawings and traces", .timeLimit(.minutes(5)), .oneAtATime)
struct ExportTests {
  private func sample() throws -> Workflow {
    let workflow = inlineWorkflow("main")
    let inner = inlineWorkflow("inner")
    try inner.add(counting("x"))
    let a = try workflow.add(counting("a"))
    let b = try workflow.add(failing("b"), prerequisites: a)
    let c = try workflow.add(SubworkflowTask(name: "c", subworkflow: inner), prerequisites: a)
    try workflow.add(OpenTask(name: "d"), prerequisites: b, c)
    return workflow
  }

  @Test("edges to tasks with a rule of their own are dashed and say it, others are not")
  func rules() throws {
    let workflow = Workflow(name: "w")
    let work = try workflow.add("work") { 1 }
    try workflow.add("next", after: work) { $0 }
    try workflow.add("clean up", after: work, when: .whenAllDone) { _ in }
    try workflow.add("alert", after: work, when: .whenAnyFails) { _ in }
    let dot = workflow.dot.split(separator: "\n").filter { $0.contains("->") }
    #expect(
      dot == [
        "  t0 -> t1;", "  t0 -> t2 [style=dashed, label=\"all done\"];",
        "  t0 -> t3 [style=dashed, label=\"any fails\"];",
      ])
    let mermaid = workflow.mermaid.split(separator: "\n").filter { $0.contains("->") }
    #expect(
      mermaid == ["  t0 --> t1", "  t0 -. all done .-> t2", "  t0 -. any fails .-> t3"])
  }

  @Test("a drawing shows names, states, edges and clusters, and is stable")
  func dot() throws {
    let workflow = try sample()
    let before = workflow.dot
    #expect(before == workflow.dot)
    #expect(
      before == """
        digraph "main" {
          rankdir=LR;
          node [shape=box];
          t0 [label="a\\nReady", style=filled, fillcolor="#cfe2ff"];
          t1 [label="b\\nPending", style=filled, fillcolor="#eeeeee"];
          t2 [label="c\\nPending", style=filled, fillcolor="#eeeeee"];
          subgraph cluster_t2 {
            label="inner";
            t2_0 [label="x\\nReady", style=filled, fillcolor="#cfe2ff"];
          }
          t3 [label="d\\nPending", style=filled, fillcolor="#eeeeee"];
          t0 -> t1;
          t0 -> t2;
          t1 -> t3;
          t2 -> t3;
        }

        """)
    workflow.start()
    let after = workflow.dot
    for label in ["a\\nFinished", "b\\nFailed", "c\\nFinished", "x\\nFinished", "d\\nPending"] {
      #expect(after.contains("\"\(label)\""))
    }
  }

  @Test("Mermaid shows the same")
  func mermaid() throws {
    let workflow = try sample()
    workflow.start()
    let lines = workflow.mermaid.split(separator: "\n")
    #expect(lines[0] == "flowchart LR")
    #expect(lines.contains("  t0[\"a<br/>Finished\"]:::finished"))
    #expect(lines.contains("  subgraph t2_inside[\"inner\"]"))
    #expect(lines.contains("    t2_0[\"x<br/>Finished\"]:::finished"))
    #expect(lines.contains("  t1 --> t3"))
    #expect(lines.filter { $0.contains("classDef") }.count == 7)
  }

  private func parsed(_ text: String) throws -> [String: Any]? {
    try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
  }

  private static let hostile = [
    "quote \" and \\ back", "line\nbreak\r\ttab", "]; } --> x", "<b>&amp;</b>",
    "null \u{0} bell \u{7}",
    "", "🙂 é \u{202E}rtl", "end", "\"];\nDROP", "#35;", "`code`", "\u{2028}\u{2029}\u{7F}\u{85}",
  ]

  @Test("names may contain anything: every export stays valid")
  func hostileNames() throws {
    let workflow = inlineWorkflow(Self.hostile.joined())
    var last: [AnyWorkflowTask] = []
    for name in Self.hostile {
      last = [try workflow.add(counting(name), prerequisites: last)]
    }
    try workflow.add(
      SubworkflowTask(name: "sub", subworkflow: inlineWorkflow(Self.hostile.joined())))
    workflow.start()
    // Graphviz: in every line quotes are balanced, and nothing but labels is
    // between them.
    for line in workflow.dot.split(separator: "\n") {
      var isInside = false
      var outside = ""
      var isEscaped = false
      for character in line.unicodeScalars {
        if isEscaped {
          isEscaped = false
        } else if isInside, character == "\\" {
          isEscaped = true
        } else if character == "\"" {
          isInside.toggle()
        } else if !isInside {
          outside.unicodeScalars.append(character)
        }
        #expect(character.value >= 32 && character.value != 127)
      }
      #expect(!isInside && !outside.contains("DROP") && !outside.contains("rtl"), "\(line)")
    }
    // Mermaid: what is in a label has no quote, bracket or markup of its own.
    for line in workflow.mermaid.split(separator: "\n") where line.contains("[\"") {
      let label = line.split(separator: "[\"", maxSplits: 1)[1]
      let text = label.replacingOccurrences(of: "<br/>", with: "")
      let end = try #require(text.range(of: "\"]"))
      #expect(!text[..<end.lowerBound].contains { "\"<>[]{}`".contains($0) }, "\(line)")
    }
    let json = try parsed(workflow.trace)
    let names = (json?["traceEvents"] as? [[String: Any]])?.compactMap { $0["name"] as? String }
    #expect(names.map { Set($0) }?.isSuperset(of: Self.hostile) == true)
  }

  @Test("a trace has an event per task that ran, in lanes that do not overlap")
  func trace() async throws {
    let workflow = Workflow(name: "traced")
    let a = try workflow.add(
      BlockWorkflowTask<Int>(name: "a") { task in
        usleep(3000)
        task.finish(with: 1)
      })
    for i in 0..<4 {
      try workflow.add(
        BlockWorkflowTask<Int>(name: "b\(i)") { task in
          usleep(2000)
          task.finish(with: i)
        }, prerequisites: a)
    }
    try workflow.add(failing("bad"))
    let never = try workflow.add(counting("never"))
    never.cancel()
    _ = try await workflow.run()
    let json = try #require(try parsed(workflow.trace))
    let events = try #require(json["traceEvents"] as? [[String: Any]])
      .filter { $0["ph"] as? String == "X" }
    #expect(events.count == 6)
    var byLane: [Int: [(Double, Double)]] = [:]
    for event in events {
      let (start, duration) = (event["ts"] as? Double ?? -1, event["dur"] as? Double ?? -1)
      #expect(start >= 0 && duration >= 0)
      byLane[event["tid"] as? Int ?? -1, default: []].append((start, start + duration))
    }
    for lane in byLane.values {
      for (first, second) in zip(lane, lane.dropFirst()) { #expect(first.1 <= second.0) }
    }
    let first = try #require(events.first { $0["name"] as? String == "a" })
    #expect(first["dur"] as? Double ?? 0 >= 3000)
    let bad = try #require(events.first { $0["name"] as? String == "bad" })
    #expect((bad["args"] as? [String: Any])?["state"] as? String == "Failed")
    #expect((json["otherData"] as? [String: Any])?["summary"] is String)
  }

  @Test("the summary names the critical path and the slowest tasks")
  func summary() async throws {
    let (workflow, isQuickDone) = (Workflow(name: "summary"), Event())
    func sleeping(_ name: String, _ milliseconds: UInt32) -> BlockWorkflowTask<Int> {
      BlockWorkflowTask<Int>(name: name) { task in
        usleep(milliseconds * 1000)
        task.finish(with: 1)
      }
    }
    let a = try workflow.add(sleeping("a", 5))
    let quick = try workflow.add(
      BlockWorkflowTask<Int>(name: "quick") { task in
        task.finish(with: 1)
        isQuickDone.signal()
      }, prerequisites: a)
    let slow = try workflow.add(
      BlockWorkflowTask<Int>(name: "slow") { task in
        isQuickDone.wait()
        usleep(900_000)
        task.finish(with: 1)
      }, prerequisites: a)
    let end = try workflow.add(sleeping("end", 1), prerequisites: slow, quick)
    for i in 0..<12 { try workflow.add(counting("\(i)")) }
    #expect(try await workflow.run().isFinished)
    let summary = workflow.traceSummary
    #expect(summary.criticalPath.map(\.task) == [a, slow, end])
    #expect(summary.slowestTasks.first?.task == slow && summary.slowestTasks.count == 10)
    #expect(summary.criticalPathDuration >= .milliseconds(66))
    #expect(summary.elapsed >= summary.criticalPathDuration)
    #expect(summary.totalWork >= summary.criticalPathDuration)
    #expect(summary.description.contains("slow"))
  }

  @Test("empty workflows have drawings and traces, too")
  func empty() throws {
    let workflow = Workflow(name: "empty")
    #expect(workflow.dot.hasPrefix("digraph \"empty\" {"))
    #expect(workflow.mermaid.hasPrefix("flowchart LR\n"))
    #expect(try parsed(workflow.trace) != nil)
    #expect(workflow.traceSummary.criticalPath.isEmpty)
  }

  @Test("progress counts what has finished, by weight, and can cancel")
  func progress() async throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = OpenTask(name: "b")
    b.progressWeight = 3
    try workflow.add(b)
    workflow.start()
    a.finish(with: 1)
    let progress = workflow.progress
    #expect(progress === workflow.progress)
    #expect(progress.totalUnitCount == 4 && progress.completedUnitCount == 1)
    b.finish(with: 1)
    #expect(progress.fractionCompleted == 1)
    b.reset()
    #expect(progress.completedUnitCount == 1)
    try workflow.add(OpenTask(name: "c"))
    #expect(progress.totalUnitCount == 5)
    progress.cancel()
    #expect(await eventually { b.isCancelled })
    b.progressWeight = -1
    #expect(b.progressWeight == 0)
  }

  @Test("weights that add up to more than a number holds still give a fraction")
  func progressOfHugeWeights() throws {
    let workflow = inlineWorkflow()
    let tasks = (0..<4).map { OpenTask(name: "\($0)") }
    for task in tasks {
      task.progressWeight = .max
      try workflow.add(task)
    }
    let progress = workflow.progress
    #expect(progress.fractionCompleted == 0)
    workflow.start()
    tasks[0].finish(with: 1)
    #expect(abs(progress.fractionCompleted - 0.25) < 0.001)
    for task in tasks.dropFirst() { task.finish(with: 1) }
    #expect(progress.fractionCompleted == 1)
    workflow.reset()
    #expect(progress.completedUnitCount == 0 && progress.totalUnitCount > 0)
  }

  @Test("a progress that was cancelled is replaced when the workflow runs again")
  func progressAfterCancellation() async throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(OpenTask(name: "task"))
    for isReset in [false, true] {
      workflow.start()
      let progress = workflow.progress
      progress.cancel()
      #expect(await eventually { task.isCancelled })
      #expect(workflow.progress === progress)
      if isReset { workflow.reset() }
      if isReset { workflow.start() } else { workflow.retry() }
      #expect(await eventually { task.isExecuting })
      #expect(workflow.progress !== progress)
      #expect(!workflow.progress.isCancelled && workflow.progress.totalUnitCount == 1)
    }
    task.finish(with: 1)
    #expect(workflow.progress.fractionCompleted == 1)
  }

  @Test("a cancellation of the progress takes effect before the next message, and only once")
  func progressCancelledBeforeMessages() async throws {
    for _ in 0..<200 {
      let workflow = inlineWorkflow()
      let task = try workflow.add(OpenTask(name: "task"))
      workflow.start()
      let progress = workflow.progress
      progress.cancel()
      workflow.start()
      #expect(task.isCancelled)
      workflow.reset()
      let outcome = workflow.start()
      // The thread that tells of the cancellation may be the one that begins the task.
      #expect(await eventually { task.isExecuting })
      task.finish(with: 1)
      #expect(try await outcome.value == .finished)
    }
  }

  @Test("what Graphviz would read as an entity, and what no XML may contain, is escaped")
  func entities() {
    let workflow = inlineWorkflow("a&lt;b \u{FFFE}\u{FFFF} &")
    #expect(workflow.dot.hasPrefix("digraph \"a&amp;lt;b \u{FFFD}\u{FFFD} &amp;\" {"))
    #expect(!workflow.mermaid.unicodeScalars.contains { $0.value >= 0xFFFE && $0.value <= 0xFFFF })
  }

  @Test("a trace shows every attempt, and the critical path counts all of them")
  func tracedAttempts() async throws {
    let workflow = Workflow(name: "traced")
    let task = BlockWorkflowTask<Int>(name: "shaky") { task in
      usleep(3000)
      if task.attempt < 3 { task.fail(with: TestError.first) } else { task.finish(with: 1) }
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 3, delay: .constant(.milliseconds(2)))
    try workflow.add(task)
    try workflow.add(counting("behind"), prerequisites: task)
    #expect(try await workflow.run().isFinished)
    let json = try #require(try parsed(workflow.trace))
    let events = try #require(json["traceEvents"] as? [[String: Any]])
      .filter { $0["name"] as? String == "shaky" }
    let arguments = events.compactMap { $0["args"] as? [String: Any] }
    #expect(arguments.map { $0["attempt"] as? Int } == [1, 2, 3])
    #expect(arguments.map { $0["state"] as? String } == ["Failed", "Failed", "Finished"])
    #expect(arguments.map { $0["error"] as? String } == ["first", "first", nil])
    let summary = workflow.traceSummary
    #expect(summary.criticalPathDuration >= .milliseconds(13))
    #expect(summary.totalWork >= .milliseconds(9) && summary.totalWork < summary.elapsed)
  }

  @Test("a trace and its summary are of the last run of the workflow only")
  func traceOfLastRun() async throws {
    let workflow = inlineWorkflow()
    let first = try workflow.add(counting("first"))
    let second = try workflow.add(failing("second", times: 1), prerequisites: first)
    workflow.start()
    #expect(workflow.traceSummary.criticalPath.map(\.task) == [first, second])
    workflow.retry()
    #expect(workflow.traceSummary.criticalPath.map(\.task) == [second])
    #expect(!workflow.trace.contains(#""name":"first""#))
    // A start that starts nothing is no new run.
    workflow.start()
    #expect(workflow.traceSummary.slowestTasks.map(\.task) == [second])
    workflow.reset()
    workflow.start()
    #expect(workflow.traceSummary.slowestTasks.count == 2)
  }

  @Test("a run that begins while a task executes has a trace without the run before")
  func traceOfRunWithStartedTask() throws {
    let workflow = inlineWorkflow()
    try workflow.add(counting("first"))
    let open = try workflow.add(OpenTask(name: "open"))
    workflow.start()
    open.fail(with: TestError.first)
    open.retry()
    workflow.start()
    #expect(workflow.traceSummary.slowestTasks.map(\.task) == [open])
    open.finish(with: 1)
    #expect(workflow.traceSummary.slowestTasks.map(\.task) == [open])
    #expect(!workflow.trace.contains(#""name":"first""#))
  }

  @Test("a trace names the tasks inside subworkflows, in a process for each of these")
  func traceOfSubworkflows() throws {
    let innermost = inlineWorkflow("innermost")
    try innermost.add(counting("leaf"))
    let middle = inlineWorkflow("middle")
    try middle.add(SubworkflowTask(name: "deep", subworkflow: innermost))
    let notBegun = inlineWorkflow("not begun")
    try notBegun.add(counting("never"))
    let outer = inlineWorkflow("outer")
    let failed = try outer.add(failing("failed"))
    try outer.add(SubworkflowTask(name: "sub", subworkflow: middle))
    try outer.add(
      SubworkflowTask(name: "behind", subworkflow: notBegun), prerequisites: failed)
    outer.start()
    let json = try #require(try parsed(outer.trace))
    let events = try #require(json["traceEvents"] as? [[String: Any]])
    var processes: [Int: String] = [:]
    for event in events where event["name"] as? String == "process_name" {
      let arguments = event["args"] as? [String: Any]
      processes[try #require(event["pid"] as? Int)] = arguments?["name"] as? String
    }
    var tasks: [String: String] = [:]
    for event in events where event["ph"] as? String == "X" {
      tasks[try #require(event["name"] as? String)] = processes[event["pid"] as? Int ?? 0]
    }
    #expect(tasks == ["failed": "outer", "sub": "outer", "deep": "sub", "leaf": "deep"])
  }

  @Test("a subworkflow task tries again: the trace has the tasks of its first attempt, too")
  func traceOfSubworkflowThatTriesAgain() async throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let first = try inner.add(counting("first"))
    try inner.add(failing("second", times: 1), prerequisites: first)
    let task = SubworkflowTask(name: "sub", subworkflow: inner)
    task.retryPolicy = RetryPolicy(attempts: 2)
    try outer.add(task)
    #expect(try await outer.run() == .finished)
    let names = try TraceEvent.all(in: outer.trace).filter { $0.phase == "X" }.map(\.name)
    #expect(names.sorted() == ["first", "second", "sub", "sub"])
    // The workflow by itself has had another run since.
    #expect(!inner.trace.contains(#""name":"first""#))
  }

  @Test("the critical path leads through tasks that wait in vain or are skipped, to clean-up")
  func criticalPathThroughTasksThatDidNotBegin() throws {
    func working(_ name: String, _ end: @escaping @Sendable (TaskWork<Int>) -> Void)
      -> BlockWorkflowTask<Int>
    {
      BlockWorkflowTask<Int>(name: name) { run in
        usleep(2000)
        end(run)
      }
    }
    for isSkipped in [false, true] {
      let workflow = inlineWorkflow()
      let first = try workflow.add(working("first") { $0.finish(with: 1) })
      let second = try workflow.add(
        working("second") { run in
          if isSkipped { run.skip() } else { run.fail(with: TestError.first) }
        }, prerequisites: first)
      let third = try workflow.add(counting("third"), prerequisites: second)
      let fourth = try workflow.add(counting("fourth"), prerequisites: third)
      let cleanUp = counting("clean up")
      try workflow.add(cleanUp, prerequisites: [fourth], when: .whenAllDone)
      workflow.start()
      #expect(cleanUp.isFinished && fourth.state == (isSkipped ? .skipped : .pending))
      let summary = workflow.traceSummary
      #expect(summary.criticalPath.map(\.task) == [first, second, cleanUp])
      #expect(summary.elapsed >= summary.criticalPathDuration)
    }
  }

  @Test("the critical path does not lead from a task that executes to clean-up that has begun")
  func criticalPathOfEarlyCleanUp() throws {
    let workflow = inlineWorkflow()
    let open = try workflow.add(OpenTask(name: "open"))
    let cancelled = try workflow.add(counting("cancelled"), prerequisites: open)
    let cleanUp = counting("clean up")
    try workflow.add(cleanUp, prerequisites: [cancelled], when: .whenAllDone)
    workflow.start()
    cancelled.cancel()
    #expect(cleanUp.isFinished && open.isExecuting)
    let summary = workflow.traceSummary
    #expect(summary.criticalPath.map(\.task) == [open])
    #expect(summary.elapsed >= summary.criticalPathDuration)
  }

  @Test("the progress of a workflow counts what is finished inside its subworkflows")
  func progressInside() throws {
    let innermost = inlineWorkflow("innermost")
    let deep = try (0..<4).map { try innermost.add(OpenTask(name: "\($0)")) }
    let middle = inlineWorkflow("middle")
    let beside = try middle.add(OpenTask(name: "beside"))
    try middle.add(SubworkflowTask(name: "nested", subworkflow: innermost))
    let outer = inlineWorkflow("outer")
    let task = try outer.add(SubworkflowTask(name: "sub", subworkflow: middle))
    let progress = outer.progress
    #expect(progress.totalUnitCount == 1000 && progress.fractionCompleted == 0)
    outer.start()
    deep[0].finish(with: 1)
    #expect(progress.completedUnitCount == 125)
    beside.finish(with: 1)
    #expect(progress.completedUnitCount == 625)
    // One that is made while the work goes on counts the same.
    let late = inlineWorkflow("late")
    try late.add(OpenTask(name: "open"))
    let finished = inlineWorkflow("finished")
    try finished.add(counting("done"))
    finished.start()
    try outer.add(SubworkflowTask(name: "late", subworkflow: late))
    try outer.add(SubworkflowTask(name: "finished", subworkflow: finished))
    #expect(progress.totalUnitCount == 3000 && progress.completedUnitCount == 1625)
    deep[0].reset()
    #expect(progress.completedUnitCount == 1500)
    for task in deep {
      task.start()
      task.finish(with: 1)
    }
    #expect(task.isFinished && progress.completedUnitCount == 2000)
    outer.reset()
    #expect(progress.completedUnitCount == 0)
  }

  @Test("a progress of thousands of workflows in one another needs no stack")
  func progressOfDeepNest() async throws {
    let fraction = try await SmallStackThread.running {
      let all = (0..<1_000).map { inlineWorkflow("\($0)") }
      for (outer, inner) in zip(all, all.dropFirst()) {
        try outer.add(SubworkflowTask(subworkflow: inner))
      }
      let last = try all[999].add(OpenTask(name: "last"))
      let progress = all[0].progress
      all[0].start()
      last.finish(with: 1)
      return progress.fractionCompleted
    }
    #expect(fraction == 1)
  }
}
