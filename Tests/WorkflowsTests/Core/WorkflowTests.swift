import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct WorkflowTests {
  @Test("23. names, queues and centers are the given ones or made")
  func defaults() {
    let workflow = Workflow(name: "name")
    #expect(workflow.name == "name")
    #expect(workflow.operationQueue?.name?.contains("name") == true)
    #expect(workflow.notificationCenter === NotificationCenter.default)
    workflow.name = "other"
    #expect(workflow.name == "other")
    workflow.resetName()
    #expect(workflow.name.hasPrefix("Workflow 0x"))
    #expect(workflow.name != Workflow().name)
    let queue = OperationQueue()
    queue.name = "mine"
    queue.maxConcurrentOperationCount = 3
    let given = Workflow(name: "w", operationQueue: queue)
    #expect(given.operationQueue === queue && queue.name == "mine")
    #expect(queue.maxConcurrentOperationCount == 3)
    #expect(given.description.contains("name = w; finished = 0 of 0"))
  }

  @Test("23. notifications come on the given center and only there")
  func centers() async throws {
    let (mine, other) = (NotificationCenter(), NotificationCenter())
    let (here, there) = (Postings(mine), Postings(other))
    let workflow = Workflow(name: "w", notificationCenter: mine)
    try workflow.add(counting("t"))
    #expect(try await workflow.run().isFinished)
    #expect(here.log.entries == ["willStart w", "start t", "finish t", "didFinish w"])
    #expect(there.log.entries.isEmpty)
  }

  @Test("23. notifications come on the default center, by object")
  func defaultCenter() async throws {
    let workflow = Workflow(name: "w")
    let task = counting("t")
    let (ofTask, ofWorkflow) = (
      Postings(.default, of: task), Postings(.default, of: workflow)
    )
    try workflow.add(task)
    #expect(try await workflow.run().isFinished)
    #expect(ofTask.log.entries == ["start t", "finish t"])
    #expect(ofWorkflow.log.entries == ["willStart w", "didFinish w"])
  }

  @Test("24. tasks, first and last ones are right after each addition")
  func sets() throws {
    let workflow = Workflow(name: "w")
    #expect(workflow.allTasks.isEmpty)
    #expect(workflow.tasksWithNoPrerequisiteTasks.isEmpty)
    #expect(workflow.tasksWithNoDependentTasks.isEmpty)
    let a = try workflow.add(counting("a"))
    #expect(workflow.tasksWithNoPrerequisiteTasks == [a])
    #expect(workflow.tasksWithNoDependentTasks == [a])
    let b = try workflow.add(counting("b"), prerequisites: a)
    #expect(workflow.tasksWithNoDependentTasks == [b])
    let c = try workflow.add(counting("c"))
    #expect(workflow.allTasks == [a, b, c])
    #expect(workflow.tasksWithNoPrerequisiteTasks == [a, c])
    #expect(workflow.tasksWithNoDependentTasks == [b, c])
    #expect(a.workflow === workflow)
    let foreign = counting("foreign")
    #expect(workflow.prerequisites(for: foreign) == nil)
    #expect(workflow.unkeyedPrerequisites(for: foreign) == nil)
    #expect(workflow.keyedPrerequisites(for: foreign) == nil)
    #expect(workflow.dependents(for: foreign) == nil)
    #expect(!workflow.contains(foreign))
  }

  /// Expects an error whose sentence names all given words.
  private func refuses(
    _ workflow: Workflow, naming words: String..., because matches: (WorkflowError) -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let before = workflow.debugDescription
    do {
      try body()
      Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch let error as WorkflowError {
      #expect(matches(error), "\(error)", sourceLocation: sourceLocation)
      let text = error.errorDescription ?? ""
      for word in words {
        #expect(text.contains("\"\(word)\""), "\(text)", sourceLocation: sourceLocation)
      }
    } catch {
      Issue.record("\(error)", sourceLocation: sourceLocation)
    }
    #expect(workflow.debugDescription == before, sourceLocation: sourceLocation)
  }

  @Test("25. mistakes are typed errors that name the tasks, and change nothing")
  func misuse() throws {
    let (workflow, other) = (Workflow(name: "w"), Workflow(name: "other"))
    let a = try workflow.add(counting("a"))
    let b = try workflow.add(counting("b"), prerequisites: a)
    let foreign = try other.add(counting("foreign"))
    let new = counting("new")

    refuses(
      workflow, naming: "a", because: { if case .taskAlreadyAdded(a) = $0 { true } else { false } }
    ) {
      try workflow.add(a)
    }
    refuses(
      other, naming: "a",
      because: { if case .taskInAnotherWorkflow(a) = $0 { true } else { false } }
    ) {
      try other.add(a)
    }
    refuses(
      workflow, naming: "foreign", "new",
      because: { if case .foreignPrerequisite(foreign, new) = $0 { true } else { false } }
    ) {
      try workflow.add(new, prerequisites: a, foreign)
    }
    refuses(
      workflow, naming: "new",
      because: { if case .cycle([new, new]) = $0 { true } else { false } }
    ) {
      try workflow.add(new, prerequisites: a, new)
    }
    refuses(
      workflow, naming: "a", "b",
      because: { if case .cycle([a, b, a]) = $0 { true } else { false } }
    ) {
      try workflow.addPrerequisite(b, to: a)
    }
    refuses(
      workflow, naming: "new", "key",
      because: { if case .duplicatePrerequisiteKey("key", new) = $0 { true } else { false } }
    ) {
      try workflow.add(new, keyedPrerequisites: ["key": a, "key": b])
    }
    // The refused task is free.
    #expect(new.workflow == nil && new.state == .ready)
    try workflow.add(new, prerequisites: a)
    #expect(new.state == .pending)
  }

  @Test("25. long cycles are refused with their path, wherever they close")
  func cycles() throws {
    let workflow = Workflow(name: "w")
    let tasks = try (0..<6).map { try workflow.add(counting("t\($0)")) }
    for i in 1..<6 { try workflow.addPrerequisite(tasks[i - 1], to: tasks[i]) }
    refuses(
      workflow, naming: "t0", "t5",
      because: {
        if case .cycle(let path) = $0 { path == tasks + [tasks[0]] } else { false }
      }
    ) {
      try workflow.addPrerequisite(tasks[5], to: tasks[0])
    }
    // Against the order of the additions, but no cycle.
    let late = try workflow.add(counting("late"))
    try workflow.addPrerequisite(late, to: tasks[0])
    refuses(
      workflow, naming: "late", "t3",
      because: { if case .cycle(let path) = $0 { path.first == late } else { false } }
    ) {
      try workflow.addPrerequisite(tasks[3], to: late)
    }
    #expect(tasks[0].state == .pending && late.state == .ready)
  }

  @Test("25. a prerequisite added late holds a task that has not begun, and no other")
  func latePrerequisites() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"))
    try workflow.addPrerequisite(b, to: a)
    try workflow.addPrerequisite(b, to: a)
    #expect(a.state == .pending && a.prerequisiteTasks == [b])
    workflow.start()
    #expect(a.state == .pending && b.state == .executing)
    b.finish(with: 1)
    #expect(a.state == .executing)
    let c = try workflow.add(OpenTask(name: "c"))
    refuses(
      workflow, naming: "a",
      because: { if case .taskAlreadyBegun(a) = $0 { true } else { false } }
    ) {
      try workflow.addPrerequisite(c, to: a)
    }
    let outside = OpenTask(name: "outside")
    refuses(
      workflow, naming: "outside",
      because: { if case .foreignPrerequisite = $0 { true } else { false } }
    ) {
      try workflow.addPrerequisite(outside, to: c)
    }
  }

  @Test("25. two threads adding one task to two workflows: one of them gets it")
  func addingRace() async {
    let raced = await RaceHarness(threads: 2, rounds: 500).run { _ in
      ((Workflow(name: "a"), Workflow(name: "b")), OpenTask(name: "t"), Counter())
    } act: { subject, thread in
      let (workflows, task, added) = subject
      do {
        try (thread == 0 ? workflows.0 : workflows.1).add(task)
        added.add()
      } catch {}
    } check: { subject, _ in
      #expect(subject.2.value == 1)
      #expect(subject.1.workflow.map { $0.allTasks == [subject.1] } == true)
      #expect(subject.0.0.allTasks.count + subject.0.1.allTasks.count == 1)
    }
    #expect(raced)
  }

  @Test("26. required keys: more are allowed, exactly these too, missing ones are named")
  func requiredKeys() throws {
    final class Needy: WorkflowTask<Int>, @unchecked Sendable {
      override var requiredPrerequisiteKeys: Set<AnyHashable> { ["user", 7] }
    }
    let workflow = Workflow(name: "w")
    let a = try workflow.add(counting("a"))
    let needy = Needy(name: "needy")
    refuses(
      workflow, naming: "needy", "7", "user",
      because: {
        if case .missingPrerequisiteKeys(["7", "user"], needy) = $0 { true } else { false }
      }
    ) {
      try workflow.add(needy, prerequisites: a)
    }
    refuses(
      workflow, naming: "needy", "7",
      because: { if case .missingPrerequisiteKeys(["7"], needy) = $0 { true } else { false } }
    ) {
      try workflow.add(needy, keyedPrerequisites: ["user": a])
    }
    try workflow.add(needy, keyedPrerequisites: ["user": a, 7: a])
    let more: [AnyHashable: AnyWorkflowTask] = ["user": a, 7: a, "more": a]
    try workflow.add(Needy(name: "more"), keyedPrerequisites: more)
    let block = BlockWorkflowTask<Int>(name: "block", requiredPrerequisiteKeys: ["key"]) { _ in }
    refuses(workflow, naming: "block", "key", because: { _ in true }) { try workflow.add(block) }
    let method = MethodWorkflowTask<Needy, Int>(
      name: "method", target: needy, method: { _ in { (_: TaskWork<Int>) in } },
      requiredPrerequisiteKeys: ["key"])
    refuses(workflow, naming: "method", because: { _ in true }) { try workflow.add(method) }
    let async = AsyncWorkflowTask<Int>(name: "async", requiredPrerequisiteKeys: ["key"]) { _ in 1 }
    refuses(workflow, naming: "async", because: { _ in true }) { try workflow.add(async) }
  }

  @Test("26. a typed key of the wrong type is refused when the task is added")
  func typedKeys() throws {
    let workflow = Workflow(name: "w")
    let number = try workflow.add(counting("number"))
    let key = PrerequisiteKey<String>("text")
    let task = counting("task")
    refuses(
      workflow, naming: "text", "number", "task",
      because: {
        if case .wrongPrerequisiteType("text", number, "String", task) = $0 { true } else { false }
      }
    ) {
      try workflow.add(task, keyedPrerequisites: [key.named: number])
    }
    // Also if the requirement is typed and the prerequisite's key is not.
    let typed = BlockWorkflowTask<Int>(name: "typed", requiredPrerequisiteKeys: [key.named]) {
      _ in
    }
    refuses(
      workflow, naming: "typed",
      because: { if case .wrongPrerequisiteType = $0 { true } else { false } }
    ) {
      try workflow.add(typed, keyedPrerequisites: ["text": number])
    }
  }

  @Test("27. starting an empty workflow finishes it at once, each time")
  func empty() async throws {
    let workflow = Workflow(name: "w", notificationCenter: NotificationCenter())
    let (listener, postings) = (Listener(), Postings(workflow.notificationCenter))
    workflow.delegate = listener
    let future = workflow.start()
    #expect(listener.log.entries == ["w finished"])
    #expect(postings.log.entries == ["willStart w", "didFinish w"])
    #expect(try await future.value.isFinished)
    #expect(!workflow.hasUnfinishedTasks && !workflow.hasFailedTasks)
    workflow.cancel()
    workflow.reset()
    workflow.retry()
    #expect(
      postings.log.entries == [
        "willStart w", "didFinish w", "willCancel w", "willReset w", "willRetry w",
      ])
  }

  @Test("28. a start runs the first tasks, a chain in order, and a join once")
  func order() throws {
    let workflow = inlineWorkflow()
    let tasks = ["a", "b", "c"].map { OpenTask(name: $0) }
    try workflow.add(tasks[0])
    try workflow.add(tasks[1], prerequisites: tasks[0])
    try workflow.add(tasks[2], prerequisites: tasks[1])
    let left = try workflow.add(OpenTask(name: "left"), prerequisites: tasks[0])
    let join = try workflow.add(OpenTask(name: "join"), prerequisites: tasks[2], left)
    workflow.start()
    #expect(workflow.allTasks.map(\.state) == [.executing, .pending, .pending, .pending, .pending])
    tasks[0].finish(with: 1)
    #expect(
      workflow.allTasks.map(\.state) == [.finished, .executing, .pending, .executing, .pending])
    left.finish(with: 1)
    tasks[1].finish(with: 1)
    #expect(join.state == .pending)
    tasks[2].finish(with: 1)
    #expect(join.state == .executing && join.runs.value == 1)
  }

  @Test("28. independent tasks overlap in time")
  func overlap() async throws {
    let workflow = Workflow(name: "w")
    let meeting = Barrier(2)
    for i in 0..<2 {
      try workflow.add(
        BlockWorkflowTask<Int>(name: "\(i)") { task in
          meeting.meet()
          task.finish(with: i)
        })
    }
    #expect(try await workflow.run().isFinished)
  }

  @Test("28. more blocking tasks than cores all come to run")
  func manyBlocking() async throws {
    let workflow = Workflow(name: "w")
    let meeting = Barrier(5)
    for i in 0..<5 {
      try workflow.add(
        BlockWorkflowTask<Int>(name: "\(i)") { task in
          meeting.meet()
          task.finish(with: i)
        })
    }
    #expect(try await workflow.run().isFinished)
  }

  @Test("29. a start also runs ready tasks that are not first")
  func startsReady() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    workflow.start()
    a.finish(with: 1)
    b.finish(with: 1)
    b.reset()
    let late = try workflow.add(OpenTask(name: "late"), prerequisites: a)
    #expect(late.state == .ready)
    workflow.start()
    #expect(b.state == .executing && late.state == .executing && a.runs.value == 1)
  }

  @Test("29. starting a finished workflow does not finish it again")
  func finishedAgain() async throws {
    let workflow = Workflow(name: "w", context: .inline)
    let listener = Listener()
    workflow.delegate = listener
    try workflow.add(counting("a"))
    workflow.start()
    let outcome = try await workflow.start().value
    #expect(outcome.isFinished && listener.log.entries == ["w finished"])
  }

  @Test("30. a dependent starts exactly once, after all prerequisites have finished")
  func joins() async {
    let raced = await RaceHarness(threads: 4, rounds: 500).run {
      _ -> (Workflow, [OpenTask], OpenTask) in
      let workflow = inlineWorkflow()
      let before = (0..<4).map { OpenTask(name: "\($0)") }
      let join = OpenTask(name: "join")
      do {
        for task in before { try workflow.add(task) }
        try workflow.add(join, prerequisites: before)
      } catch {
        Issue.record(error)
      }
      workflow.start()
      return (workflow, before, join)
    } act: { subject, thread in
      let (_, before, join) = subject
      if join.state != .pending { Issue.record("too early") }
      before[thread].finish(with: thread)
    } check: { subject, _ in
      #expect(subject.2.runs.value == 1 && subject.2.state == .executing)
    }
    #expect(raced)
  }

  @Test("31. did-finish comes once when the last task has finished, and again after another run")
  func didFinish() throws {
    let workflow = Workflow(
      name: "w", context: .inline, notificationCenter: NotificationCenter())
    let (listener, postings) = (Listener(), Postings(workflow.notificationCenter, of: workflow))
    workflow.delegate = listener
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"))
    workflow.start()
    a.finish(with: 1)
    b.fail(with: TestError.first)
    #expect(!listener.log.entries.contains("w finished"))
    b.retry()
    b.cancel()
    #expect(!listener.log.entries.contains("w finished"))
    b.retry()
    b.finish(with: 1)
    #expect(listener.log.entries.filter { $0 == "w finished" }.count == 1)
    workflow.reset()
    workflow.start()
    a.finish(with: 1)
    b.finish(with: 1)
    #expect(listener.log.entries.filter { $0 == "w finished" }.count == 2)
    #expect(
      postings.log.entries == [
        "willStart w", "taskDidFail w b", "taskDidCancel w b", "didFinish w", "willReset w",
        "willStart w", "didFinish w",
      ])
  }

  @Test("32. what a workflow will do is told before it does it")
  func willDo() throws {
    let center = NotificationCenter()
    let workflow = Workflow(name: "w", context: .inline, notificationCenter: center)
    let task = try workflow.add(OpenTask(name: "t"))
    let states = Log<String>()
    var observers: [any NSObjectProtocol] = []
    for name: Notification.Name in [
      .workflowWillStart, .workflowWillCancel, .workflowWillRetry, .workflowWillReset,
    ] {
      observers.append(
        center.addObserver(forName: name, object: workflow, queue: nil) { _ in
          states.append(task.state.description)
        })
    }
    defer { for observer in observers { center.removeObserver(observer) } }
    workflow.start()
    workflow.cancel()
    workflow.retry()
    workflow.reset()
    #expect(states.entries == ["Ready", "Executing", "Cancelled", "Executing"])
    #expect(task.state == .ready)
  }

  @Test("33. cancelling a workflow cancels what has not ended, and keeps results")
  func cancelWorkflow() async throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    let c = try workflow.add(OpenTask(name: "c"), prerequisites: b)
    let future = workflow.start()
    a.finish(with: 1)
    workflow.cancel()
    #expect(a.result == 1 && b.state == .cancelled && c.state == .cancelled)
    #expect(workflow.hasUnfinishedTasks && !workflow.hasFailedTasks)
    guard case .cancelled(let tasks) = try await future.value else {
      Issue.record("not cancelled")
      return
    }
    #expect(tasks == [b, c])
  }

  @Test("34. retrying a workflow runs what failed or was cancelled, and nothing else")
  func retryWorkflow() async throws {
    let workflow = Workflow(name: "w", context: .inline)
    let runs = Counter()
    let a = try workflow.add(counting("a", runs))
    let bad = try workflow.add(failing("bad", times: 1), prerequisites: a)
    let last = try workflow.add(counting("last"), prerequisites: bad)
    #expect(try await workflow.start().value.errors.count == 1)
    #expect(workflow.hasFailedTasks)
    last.cancel()
    #expect(try await workflow.retry().value.isFinished)
    #expect(!workflow.hasFailedTasks && !workflow.hasUnfinishedTasks)
    #expect(runs.value == 1 && last.result == 1)
  }

  @Test("35. a reset workflow runs anew, with new results")
  func resetWorkflow() async throws {
    let workflow = Workflow(name: "w")
    let runs = Counter()
    let a = try workflow.add(
      BlockWorkflowTask<Int>(name: "a") { $0.finish(with: runs.add()) })
    let b = try workflow.add(
      AsyncWorkflowTask<Int>(name: "b") { try $0.result(of: a) * 10 }, prerequisites: a)
    #expect(try await workflow.run().isFinished)
    #expect(b.result == 10)
    workflow.reset()
    #expect(workflow.hasUnfinishedTasks)
    #expect(a.result == nil && b.result == nil && a.state == .ready && b.state == .pending)
    #expect(try await workflow.run().isFinished)
    #expect(b.result == 20)
  }

  @Test("36. unfinished and failed tasks are known at any time")
  func flags() throws {
    let workflow = inlineWorkflow()
    #expect(!workflow.hasUnfinishedTasks && !workflow.hasFailedTasks)
    let task = try workflow.add(OpenTask(name: "t"))
    #expect(workflow.hasUnfinishedTasks)
    workflow.start()
    #expect(workflow.hasUnfinishedTasks)
    task.fail(with: TestError.first)
    #expect(workflow.hasUnfinishedTasks && workflow.hasFailedTasks)
    task.retry()
    #expect(!workflow.hasFailedTasks)
    task.finish(with: 1)
    #expect(!workflow.hasUnfinishedTasks)
  }

  @Test("37. tasks added while the workflow runs wait, or start by themselves")
  func addingWhileRunning() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let other = try workflow.add(OpenTask(name: "other"))
    workflow.start()
    let behind = try workflow.add(OpenTask(name: "behind"), prerequisites: a)
    #expect(behind.state == .pending)
    a.finish(with: 1)
    #expect(behind.state == .executing)
    let ready = try workflow.add(OpenTask(name: "ready"), prerequisites: a)
    #expect(ready.state == .executing)
    for task in [behind, ready, other] { task.finish(with: 1) }
    let late = try workflow.add(OpenTask(name: "late"), prerequisites: a)
    #expect(late.state == .ready)
  }

  @Test("37. tasks may be added from several threads and from inside work")
  func addingFromThreads() async throws {
    let workflow = Workflow(name: "w")
    let root = try workflow.add(
      BlockWorkflowTask<Int>(name: "root") { task in
        do {
          for i in 0..<10 {
            try task.workflow?.add(counting("inside \(i)"), prerequisites: task.task)
          }
          task.finish(with: 1)
        } catch {
          task.fail(with: error)
        }
      })
    let added = Event()
    let remaining = Counter()
    remaining.add(4)
    for thread in 0..<4 {
      Thread {
        for i in 0..<200 {
          do {
            try workflow.add(counting("\(thread).\(i)"), prerequisites: root)
          } catch {
            Issue.record(error)
          }
        }
        if remaining.add(-1) == 0 { added.signal() }
      }.start()
    }
    workflow.start()
    #expect(await added.opened())
    #expect(try await workflow.run().isFinished)
    #expect(workflow.allTasks.count == 811)
    #expect(workflow.allTasks.allSatisfy { $0.isFinished })
  }

  @Test("38. tasks that failed are released with their workflow, whatever their errors name")
  func failedTasksAreReleased() async throws {
    struct WeakTask: Sendable { weak var task: AnyWorkflowTask? }
    func fail() async throws -> [WeakTask] {
      let workflow = Workflow(name: "w")
      let idle = try workflow.add(WorkflowTask<Int>(name: "no work"))
      let slow = try workflow.add(OpenTask(name: "slow"))
      slow.timeout = .milliseconds(1)
      // Each of these names itself, and one of them another as well.
      let curious = try workflow.add(
        BlockWorkflowTask<Int>(name: "curious") { task in
          do {
            task.finish(with: try task.result(of: idle))
          } catch {
            task.fail(with: error)
          }
        })
      let own = try workflow.add(
        BlockWorkflowTask<Int>(name: "own") { task in
          do {
            task.finish(with: try task.result(of: task.task))
          } catch {
            task.fail(with: error)
          }
        })
      guard case .failed(let errors) = try await workflow.run() else {
        throw TestError.first
      }
      #expect(errors.count == 4)
      return [idle, slow, curious, own].map { WeakTask(task: $0) }
    }
    let tasks = try await fail()
    #expect(await eventually { tasks.allSatisfy { $0.task == nil } })
  }

  @Test("38. a failed task that is held keeps its error when the workflow is gone")
  func errorsOutliveTheWorkflow() async throws {
    let tasks = try await {
      let workflow = Workflow(name: "w")
      let idle = try workflow.add(WorkflowTask<Int>(name: "no work"))
      let slow = try workflow.add(OpenTask(name: "slow"))
      slow.timeout = .milliseconds(1)
      let failing = try workflow.add(failing("failing"))
      _ = try await workflow.run()
      return (idle: idle, slow: slow, failing: failing)
    }()
    #expect(await eventually { tasks.idle.workflow == nil })
    guard case .noWork(let task)? = tasks.idle.error as? WorkflowError, task === tasks.idle,
      case .timedOut(let other, after: .milliseconds(1))? = tasks.slow.error as? WorkflowError,
      other === tasks.slow
    else {
      Issue.record(
        "\(String(describing: tasks.idle.error)), \(String(describing: tasks.slow.error))")
      return
    }
    #expect(tasks.failing.error as? TestError == .first)
    await #expect(throws: TestError.first) { try await tasks.failing.future.value }
  }

  @Test("38. a workflow that nobody holds runs to its end and is then released")
  func lifetime() async throws {
    let tracker = LifetimeTracker()
    let done = Event()
    weak var released: Workflow?
    func start() throws {
      let workflow = Workflow(name: "w")
      let object = tracker.make()
      let a = try workflow.add(
        BlockWorkflowTask<Int>(name: "a") { task in
          object.touch()
          DispatchQueue.global().asyncAfter(deadline: .now() + 0.01) { task.finish(with: 1) }
        })
      let b = try workflow.add(
        AsyncWorkflowTask<Int>(name: "b") { task in
          object.touch()
          return try task.result(of: a)
        }, prerequisites: a)
      try workflow.add(
        BlockWorkflowTask<Int>(name: "c") { task in
          object.touch()
          task.finish(with: (task.anyPrerequisiteResult as? Int) ?? 0)
          done.signal()
        }, prerequisites: b)
      released = workflow
      workflow.start()
    }
    try start()
    #expect(await done.opened())
    #expect(await eventually { released == nil })
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test("38. a workflow that nobody holds lives while the work of a cancelled task is in progress")
  func lifetimeOfCancelled() async throws {
    let (begun, mayEnd) = (Event(), Event())
    weak var released: Workflow?
    func start() async throws {
      let workflow = Workflow(name: "w")
      try workflow.add(
        BlockWorkflowTask<Int>(name: "deaf") { _ in
          begun.signal()
          mayEnd.wait()
        })
      released = workflow
      workflow.start()
      #expect(await begun.opened())
      workflow.cancel()
    }
    try await start()
    #expect(released?.allTasks.first?.state == .cancelled)
    mayEnd.signal()
    #expect(await eventually { released == nil })
  }

  @Test("38. a task outlives its workflow with its state and result, and does not run again")
  func taskOutlives() throws {
    let task = counting("t")
    do {
      let workflow = inlineWorkflow()
      try workflow.add(task)
      workflow.start()
    }
    #expect(task.workflow == nil)
    #expect(task.state == .finished && task.result == 1 && task.finishDate != nil)
    task.reset()
    task.start()
    task.cancel()
    task.retry()
    #expect(task.state == .finished && task.prerequisiteTasks.isEmpty)
    #expect(throws: WorkflowError.self) { try Workflow(name: "other").add(task) }
  }

  @Test("39. delegates are not kept alive, need no methods, and get the right arguments")
  func delegates() throws {
    final class Empty: WorkflowDelegate, WorkflowTaskDelegate {}
    let workflow = inlineWorkflow("w")
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"))
    var empty: Empty? = Empty()
    workflow.delegate = empty
    a.delegate = empty
    #expect(workflow.delegate === empty && a.delegate === empty)
    workflow.start()
    a.fail(with: TestError.first)
    a.retry()
    a.cancel()
    empty = nil
    #expect(workflow.delegate == nil && a.delegate == nil)
    let listener = Listener()
    workflow.delegate = listener
    a.delegate = listener
    a.retry()
    a.fail(with: TestError.second)
    b.cancel()
    workflow.retry()
    a.finish(with: 4)
    b.finish(with: 5)
    #expect(
      listener.log.entries == [
        "task a failed second", "w: a failed second", "w: b cancelled", "task a finished 4",
        "w finished",
      ])
  }

  @Test("40. events come as a stream, in order, and end with the workflow")
  func events() async throws {
    var workflow: Workflow? = inlineWorkflow()
    let a = OpenTask(name: "a")
    try workflow?.add(a)
    let (events, second) = (try #require(workflow).events, try #require(workflow).events)
    workflow?.start()
    a.fail(with: TestError.first)
    a.retry()
    a.cancel()
    a.reset()
    a.start()
    a.finish(with: 1)
    workflow?.cancel()
    workflow?.retry()
    workflow?.reset()
    workflow = nil
    let expected: [WorkflowEvent] = [
      .workflowWillStart, .taskDidStart(a), .taskDidFail(a),
      .runDidEnd(.failed([a: TestError.first])), .taskDidRetry(a), .taskDidStart(a),
      .taskDidCancel(a), .taskDidReset(a), .taskDidStart(a), .taskDidFinish(a),
      .workflowDidFinish, .workflowWillCancel, .workflowWillRetry, .runDidEnd(.finished),
      .workflowWillReset, .taskDidReset(a),
    ]
    var seen: [WorkflowEvent] = []
    for await event in events { seen.append(event) }
    #expect(seen == expected)
    seen = []
    for await event in second { seen.append(event) }
    #expect(seen == expected)
  }

  @Test("40. run() waits for the end, and cancelling its task cancels the workflow")
  func run() async throws {
    let workflow = Workflow(name: "w")
    let started = Event()
    let task = try workflow.add(
      AsyncWorkflowTask<Int>(name: "t") { _ in
        started.signal()
        try await Task.sleep(for: .seconds(100))
        return 1
      })
    let run = Task { try await workflow.run() }
    #expect(await started.opened())
    run.cancel()
    guard case .cancelled([task]) = try await run.value else {
      Issue.record("not cancelled")
      return
    }
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await workflow.run()
    }
    await #expect(throws: CancellationError.self) { try await early.value }
  }

  @Test("40. cancelling all futures of a run cancels the workflow, cancelling one does not")
  func futures() async throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(OpenTask(name: "t"))
    let (first, second) = (workflow.start(), workflow.start())
    first.cancel()
    #expect(task.state == .executing)
    second.cancel()
    #expect(task.state == .cancelled)
  }

  @Test("40. a run that cannot go on is stuck, and says who waits for whom")
  func stuck() async throws {
    let workflow = Workflow(name: "w")
    let forgetful = try workflow.add(BlockWorkflowTask<Int>(name: "forgetful") { _ in })
    let behind = try workflow.add(counting("behind"), prerequisites: forgetful)
    let last = try workflow.add(counting("last"), prerequisites: behind)
    let good = try workflow.add(counting("good"))
    let outcome = try await workflow.run()
    guard case .stuck(let waiting) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(waiting == [forgetful: [], behind: [forgetful], last: [behind]])
    #expect(good.isFinished && forgetful.state == .executing)
    #expect(
      outcome.description
        == "stuck: behind waits for forgetful, forgetful (Executing), last waits for behind")
    // It can still be ended from outside, and the run goes on.
    forgetful.finish(with: 1)
    #expect(await eventually { last.isFinished })
  }

  @Test("the progress is right in the end, whoever asks for it, adds and resets while tasks finish")
  func progressOfConcurrentChanges() async throws {
    for _ in 0..<50 {
      let workflow = Workflow(name: "w")
      for number in 0..<20 { try workflow.add(counting("\(number)")) }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { _ = try? await workflow.run() }
        group.addTask { for _ in 0..<5 { _ = workflow.progress.fractionCompleted } }
        group.addTask { for _ in 0..<5 { workflow.allTasks[3].reset() } }
        group.addTask { for _ in 0..<5 { _ = try? workflow.add(counting("late")) } }
      }
      _ = try await workflow.run()
      let progress = workflow.progress
      #expect(
        await eventually { progress.completedUnitCount == 25 && progress.totalUnitCount == 25 })
    }
  }

  #if os(Linux) || os(macOS)
    @Test("on a center that is given, the default one included, everything is posted")
    func postedOnGivenCenter() async {
      // In a process in which no test has read a notification's name.
      await #expect(processExitsWith: .success) {
        let posted = Counter()
        _ = NotificationCenter.default.addObserver(
          forName: Notification.Name("WorkflowTaskDidStart"), object: nil, queue: nil
        ) { _ in posted.add() }
        let workflow = Workflow(name: "w", context: .inline, notificationCenter: .default)
        try workflow.add(counting("a"))
        workflow.start()
        #expect(posted.value == 1)
      }
    }
  #endif

  @Test("each of 70,000 tasks runs in the context that it was given, which may be a value")
  func manyContexts() throws {
    struct Marked: ExecutionContext {
      let count: Counter
      func execute(_ operation: Operation) {
        count.add()
        operation.start()
      }
    }
    let (own, shared) = (Counter(), Counter())
    let workflow = Workflow(name: "w", context: Marked(count: shared))
    for number in 0..<70_000 {
      let task = counting("\(number)")
      task.setContext(Marked(count: own))
      try workflow.add(task)
    }
    #expect(workflow.start().isFulfilled)
    #expect(own.value == 70_000 && shared.value == 0)
  }

  @Test("a chain of 20,000 tasks that were each told to run inline needs little stack")
  func inlineTasksShareAPool() async throws {
    let finished = try await SmallStackThread.running {
      let workflow = inlineWorkflow()
      var last: AnyWorkflowTask?
      for number in 0..<20_000 {
        let task = counting("\(number)")
        task.setContext(.inline)
        last = try workflow.add(task, prerequisites: last.map { [$0] } ?? [])
      }
      workflow.start()
      return !workflow.hasUnfinishedTasks
    }
    #expect(finished)
  }

  @Test("a task that is added while its prerequisite finishes runs in its own context")
  func addedWithContext() async {
    final class Counting: ExecutionContext {
      let count = Counter()
      func execute(_ operation: Operation) {
        count.add()
        operation.start()
      }
    }
    struct Subject: Sendable {
      let workflow = Workflow(name: "w", context: Counting())
      let before = OpenTask(name: "before")
      let task = counting("task")
      let own = Counting()
    }
    let strayed = Log<Int>()
    let raced = await RaceHarness(threads: 2, rounds: 5_000).run { _ -> Subject in
      let subject = Subject()
      subject.task.setContext(subject.own)
      _ = try? subject.workflow.add(subject.before)
      _ = try? subject.workflow.add(OpenTask(name: "keeps the run going"))
      subject.workflow.start()
      return subject
    } act: { subject, thread in
      if thread == 0 {
        subject.before.finish(with: 1)
      } else {
        _ = try? subject.workflow.add(subject.task, prerequisites: subject.before)
      }
    } check: { subject, round in
      if !subject.task.isFinished || subject.own.count.value != 1 { strayed.append(round) }
      subject.workflow.cancel()
    }
    #expect(raced)
    #expect(strayed.entries.isEmpty)
  }

  @Test("each run ends with one event and one call of the delegate, whatever its outcome")
  func everyEndIsTold() async throws {
    final class Ends: WorkflowDelegate {
      let log = Log<String>()
      func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
        log.append("\(outcome)")
      }
      func workflowDidFinish(_ workflow: Workflow) { log.append("did finish") }
    }
    let workflow = inlineWorkflow()
    let ends = Ends()
    workflow.delegate = ends
    let events = workflow.events
    let task = try workflow.add(OpenTask(name: "task"))
    let behind = try workflow.add(counting("behind"), prerequisites: task)

    workflow.start()
    workflow.start()
    task.fail(with: TestError.first)
    workflow.retry()
    task.finish(with: 1)
    workflow.start()
    workflow.reset()
    workflow.start()
    workflow.cancel()
    workflow.reset()
    let forgetful = try workflow.add(BlockWorkflowTask<Int>(name: "forgetful") { _ in })
    workflow.start()
    task.finish(with: 1)
    let expected: [WorkflowOutcome] = [
      .failed([task: TestError.first]), .finished, .finished, .cancelled([task, behind]),
      .stuck([forgetful: []]),
    ]
    #expect(
      ends.log.entries == [
        "failed: task (first)", "did finish", "finished", "finished", "cancelled: behind, task",
        "stuck: forgetful (Executing)",
      ])
    // (Tasks that are started by themselves make no run.)
    workflow.reset()
    task.start()
    task.cancel()
    #expect(ends.log.count == 6)
    var told: [WorkflowOutcome] = []
    for await event in events {
      guard case .runDidEnd(let outcome) = event else { continue }
      told.append(outcome)
      if told.count == expected.count { break }
    }
    #expect(told == expected)
    #expect(Set(told).count == 4 && WorkflowOutcome.failed([task: TestError.second]) != told[0])
  }

  @Test("the end of an empty workflow's run is told, and a delegate may start the next run")
  func runStartedFromItsEnd() async throws {
    final class Restarting: WorkflowDelegate {
      let ends = Counter()
      func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
        if ends.add() < 3 { workflow.start() }
      }
    }
    let workflow = inlineWorkflow()
    let delegate = Restarting()
    workflow.delegate = delegate
    #expect(workflow.start().isFulfilled)
    #expect(delegate.ends.value == 3)
  }
}
