import Foundation
import Futures
import TestSupport
import Testing
import Workflows

private struct Author: Sendable, Equatable { let name: String }
private struct Part: Sendable, Equatable { let number: Int }

/// Whatever an async closure has to wait for.
private func loaded<Value: Sendable>(_ value: Value) async -> Value {
  await Task.yield()
  return value
}

@Suite("Inputs of their types", .timeLimit(.minutes(5)), .oneAtATime)
struct TypedInputTests {
  // MARK: Forms

  @Test("a closure without prerequisites makes a task of what it returns")
  func none() async throws {
    let workflow = Workflow(name: "w")
    let now = try workflow.add("now") { 1 }
    let later = try workflow.add("later") { await loaded("two") }
    let known = try workflow.add("known") { run in run.name.count }
    let waited = try workflow.add("waited") { run in await loaded(run.name) }
    let nothing = try workflow.add("nothing") {}
    #expect(try await workflow.run().isFinished)
    let one: Int? = now.result
    let two: String? = later.result
    #expect(one == 1 && two == "two" && known.result == 5 && waited.result == "waited")
    let void: WorkflowTask<Void> = nothing
    #expect(void.result != nil)
    #expect(workflow.allTasks.map(\.name) == ["now", "later", "known", "waited", "nothing"])
    #expect(workflow.tasksWithNoPrerequisiteTasks.count == 5)
  }

  @Test("a closure gets the result of one prerequisite as a value of its type")
  func one() async throws {
    let workflow = Workflow(name: "w")
    let author = try workflow.add("author") { Author(name: "Ada") }
    let name = try workflow.add("name", after: author) { author in author.name }
    let length = try workflow.add("length", after: author) { await loaded($0.name.count) }
    let line = try workflow.add("line", after: author) { run, author in
      "\(run.name): \(author.name)"
    }
    let page = try workflow.add("page", after: author) { run, author in
      await loaded("\(run.name), \(author.name)")
    }
    #expect(try await workflow.run().isFinished)
    #expect(name.result == "Ada" && length.result == 3)
    #expect(line.result == "line: Ada" && page.result == "page, Ada")
    #expect(name.prerequisiteTasks == [author] && author.dependentTasks.count == 4)
  }

  @Test("a closure gets the results of two and of five prerequisites in their order")
  func several() async throws {
    let workflow = Workflow(name: "w")
    let author = try workflow.add("author") { Author(name: "Ada") }
    let pages = try workflow.add("pages", after: author) { author in [author.name.count, 4] }
    let report = try workflow.add("report", after: author, pages) { author, pages in
      "\(author.name): \(pages.reduce(0, +))"
    }
    let number = try workflow.add("number") { 5 }
    let maybe = try workflow.add("maybe") { () -> Int? in nil }
    let all = try workflow.add("all", after: author, pages, report, number, maybe) {
      author, pages, report, number, maybe -> String in
      let sum = pages.reduce(number, +) + (maybe ?? 0)
      return await loaded("\(author.name) \(report) \(sum)")
    }
    let known = try workflow.add("known", after: pages, report) { run, pages, report in
      (run.attempt, pages, report)
    }
    #expect(try await workflow.run().isFinished)
    #expect(report.result == "Ada: 7" && all.result == "Ada Ada: 7 12")
    #expect(all.prerequisiteTasks == [author, pages, report, number, maybe])
    #expect(known.result?.0 == 1 && known.result?.2 == "Ada: 7")
  }

  @Test("a prerequisite without a result is handed over as an empty value")
  func void() async throws {
    let workflow = Workflow(name: "w")
    let folder = try workflow.add("folder") {}
    let other = try workflow.add(WorkflowTask<Void>(name: "other"))
    let number = try workflow.add("number") { 7 }
    let first = try workflow.add("first", after: folder) { _ in 1 }
    let second = try workflow.add("second", after: folder, number, other) { _, number, _ in number }
    #expect(try await workflow.run().isFinished)
    #expect(first.result == 1 && second.result == 7)
    #expect(second.prerequisiteTasks == [folder, number, other])
  }

  @Test("a prerequisite that is named twice is one edge and two values")
  func twice() async throws {
    let workflow = Workflow(name: "w")
    let number = try workflow.add("number") { 7 }
    let sum = try workflow.add("sum", after: number, number) { first, second in first + second }
    #expect(try await workflow.run().isFinished)
    #expect(sum.result == 14 && sum.prerequisiteTasks == [number])
  }

  @Test("a collection of equal tasks is handed over as an array in its order")
  func collection() async throws {
    let workflow = Workflow(name: "w")
    let shards = try (0..<50).map { number in
      try workflow.add("shard \(number)") { Part(number: number) }
    }
    let sum = try workflow.add("sum", after: shards) { (parts: [Part]) in
      parts.reduce(0) { $0 + $1.number }
    }
    let order = try workflow.add("order", after: shards.reversed()) { parts in
      await loaded(parts.map(\.number))
    }
    let count = try workflow.add("count", after: shards) { run, parts in parts.count }
    let name = try workflow.add("name", after: shards) { run, parts in
      await loaded("\(run.name) \(parts.count)")
    }
    #expect(try await workflow.run().isFinished)
    #expect(sum.result == 1225 && order.result == Array((0..<50).reversed()))
    #expect(count.result == 50 && name.result == "name 50")
    #expect(sum.prerequisiteTasks == shards)
  }

  @Test("an array without tasks leaves the task ready at once, with an empty array")
  func emptyCollection() async throws {
    let workflow = Workflow(name: "w")
    let shards: [WorkflowTask<Part>] = []
    let sum = try workflow.add("sum", after: shards) { (parts: [Part]) in parts.count }
    let later = try workflow.add("later", after: shards) { parts in await loaded(parts.isEmpty) }
    let literal = try workflow.add("literal", after: []) { (parts: [Int]) in parts }
    #expect(sum.isReady && later.isReady && literal.isReady)
    #expect(try await workflow.run().isFinished)
    #expect(sum.result == 0 && later.result == true && literal.result == [])
  }

  /// A subclass, as they were written before there were typed inputs.
  private final class Stock: WorkflowTask<Int>, @unchecked Sendable {
    override func main() { finish(with: 40) }
  }

  @Test("tasks of all kinds are prerequisites: subclasses, conditions, subworkflows, bridges")
  func kinds() async throws {
    let workflow = Workflow(name: "w")
    let inner = Workflow(name: "inner")
    let kept = try inner.add("kept") { 1 }
    let stock = try workflow.add(Stock(name: "stock"))
    let approval = try workflow.add(
      ExternalConditionTask<String>(name: "approval", waitsForFulfillment: true))
    let part = try workflow.add(SubworkflowTask(name: "part", subworkflow: inner))
    let future = try workflow.add(
      FutureWorkflowTask<Int>(name: "future", future: Promises.makeSucceeded(with: 1)))
    let sum = try workflow.add("sum", after: stock, approval, part, future) {
      stock, approval, part, future in
      "\(stock + future + part.allTasks.count) \(approval)"
    }
    let stocks = try workflow.add("stocks", after: [stock]) { $0 }
    let outcome = workflow.start()
    approval.fulfill(with: "by Grace")
    #expect(try await outcome.value.isFinished)
    #expect(sum.result == "42 by Grace" && stocks.result == [40] && kept.result == 1)
  }

  @Test("an added task is a keyed prerequisite, and required keys are asked for as before")
  func keys() async throws {
    let key = PrerequisiteKey<String>("text")
    let workflow = Workflow(name: "w")
    let text = try workflow.add("text") { "two words" }
    let count = AsyncWorkflowTask<Int>(name: "count", requiredPrerequisiteKeys: [key.named]) {
      try $0.result(forKey: key).split(separator: " ").count
    }
    #expect(throws: WorkflowError.self) { try workflow.add(count) }
    try workflow.add(count, keyedPrerequisites: [key.named: text])
    let double = try workflow.add("double", after: count) { $0 * 2 }
    #expect(try await workflow.run().isFinished)
    #expect(double.result == 4)
  }

  // MARK: Errors

  @Test("a task of another workflow, or of none, is refused, and the workflow is unchanged")
  func foreign() throws {
    let (workflow, other) = (Workflow(name: "w"), Workflow(name: "other"))
    let mine = try workflow.add("mine") { 1 }
    let theirs = try other.add("theirs") { 2 }
    let loose = WorkflowTask<Void>(name: "loose")
    for add in [
      { try workflow.add("a", after: mine, theirs) { $0 + $1 } as AnyWorkflowTask },
      { try workflow.add("b", after: loose) { _ in await loaded(1) } as AnyWorkflowTask },
      { try workflow.add("c", after: [mine, theirs]) { $0.count } as AnyWorkflowTask },
    ] {
      do {
        _ = try add()
        Issue.record("was added")
      } catch WorkflowError.foreignPrerequisite(let prerequisite, _) {
        #expect(prerequisite !== mine)
      }
    }
    #expect(workflow.allTasks == [mine] && mine.dependentTasks == [])
  }

  @Test("after a prerequisite that fails or is cancelled the closure is not called")
  func failedPrerequisite() async throws {
    let workflow = Workflow(name: "w")
    let calls = Counter()
    let good = try workflow.add("good") { 1 }
    let bad = try workflow.add("bad") { () -> Int in throw TestError.first }
    let gone = try workflow.add("gone") { () -> Int in throw CancellationError() }
    let behindBad = try workflow.add("behind bad", after: good, bad) { calls.add($0 + $1) }
    let behindGone = try workflow.add("behind gone", after: [good, gone]) { parts in
      calls.add(await loaded(parts.count))
    }
    let outcome = try await workflow.run()
    #expect(outcome.errors.count == 1 && bad.error as? TestError == .first)
    #expect(behindBad.state == .pending && behindGone.state == .cancelled && calls.value == 0)
  }

  @Test("what a closure throws fails its task; errors that mean cancellation cancel it")
  func thrown() async throws {
    let workflow = Workflow(name: "w")
    let number = try workflow.add("number") { 1 }
    let tasks: [(AnyWorkflowTask, Bool)] = [
      (try workflow.add("1", after: number) { _ in throw TestError.second }, false),
      (try workflow.add("2", after: number) { _ in try await later(TestError.second) }, false),
      (try workflow.add("3", after: number) { _, _ in throw TestError.second }, false),
      (try workflow.add("4", after: [number]) { _ in throw TestError.second }, false),
      (try workflow.add("5", after: number) { _ in throw CancellationError() }, true),
      (try workflow.add("6", after: number) { _ in try await later(CancellationError()) }, true),
      (try workflow.add("7", after: number) { _ in throw ProperationsError.cancelled }, true),
      (try workflow.add("8", after: number) { _, _ in throw CancellationError() }, true),
      (try workflow.add("9", after: [number]) { _ in try await later(CancellationError()) }, true),
    ]
    @Sendable func later(_ error: any Error) async throws -> Int {
      await Task.yield()
      throw error
    }
    _ = try await workflow.run()
    for (task, isCancelled) in tasks {
      #expect(task.state == (isCancelled ? .cancelled : .failed), "\(task.name)")
      if !isCancelled { #expect(task.error as? TestError == .second, "\(task.name)") }
    }
  }

  @Test("a closure that ends the run itself has ended it, whatever it returns or throws")
  func endedByHand() async throws {
    let workflow = Workflow(name: "w")
    let number = try workflow.add("number") { 1 }
    let finished = try workflow.add("finished", after: number) { run, number -> Int in
      run.finish(with: number + 1)
      return 0
    }
    let failed = try workflow.add("failed", after: number) { run, number -> Int in
      run.fail(with: TestError.second)
      return await loaded(number)
    }
    let thrown = try workflow.add("thrown", after: [number]) { run, numbers -> Int in
      run.finish(with: numbers.count)
      throw TestError.first
    }
    _ = try await workflow.run()
    #expect(finished.result == 2 && failed.error as? TestError == .second && thrown.result == 1)
  }

  // MARK: Runs

  @Test("after a reset the closure is called again, with the new results")
  func reset() async throws {
    let workflow = Workflow(name: "w")
    let number = Counter()
    let first = try workflow.add("first") { number.add() }
    let second = try workflow.add("second") { await loaded(number.add(10)) }
    let sum = try workflow.add("sum", after: first, second) { [$0, $1] }
    let all = try workflow.add("all", after: [first, second]) { await loaded($0) }
    #expect(try await workflow.run().isFinished)
    #expect(sum.result == all.result)
    #expect(Set(try #require(sum.result)).isSubset(of: [1, 10, 11]))
    workflow.reset()
    #expect(sum.result == nil && sum.state == .pending)
    #expect(try await workflow.run().isFinished)
    #expect(sum.result == all.result)
    #expect(Set(try #require(sum.result)).isSubset(of: [12, 21, 22]))
  }

  @Test("a retry of a prerequisite lets the closure run once, with the result of the retry")
  func retry() async throws {
    let workflow = Workflow(name: "w")
    let (attempts, calls) = (Counter(), Counter())
    let upload = try workflow.add("upload") { () -> Int in
      guard attempts.add() > 1 else { throw TestError.first }
      return attempts.value
    }
    let mail = try workflow.add("mail", after: upload) { upload in
      calls.add()
      return "after \(upload)"
    }
    #expect(try await workflow.run().errors.count == 1 && calls.value == 0)
    #expect(try await workflow.retry().value.isFinished)
    #expect(mail.result == "after 2" && calls.value == 1)
  }

  @Test("a retry policy lets the closure run again; it sees which attempt it is in")
  func policy() async throws {
    let workflow = Workflow(name: "w")
    let number = try workflow.add("number") { 5 }
    let upload = try workflow.add("upload", after: number) { run, number -> [Int] in
      guard run.attempt == 3 else { throw TestError.first }
      return [number, run.attempt, run.previousError == nil ? 0 : 1]
    }
    upload.retryPolicy = TaskRetryPolicy(attempts: 3)
    #expect(try await workflow.run().isFinished)
    #expect(upload.result == [5, 3, 1])
  }

  @Test("cancelling, resetting and a time limit cancel the Swift task of an async closure")
  func asyncCancellation() async throws {
    for way in 0..<3 {
      let clock = ManualClock()
      let workflow = Workflow(name: "w", clock: clock)
      let (started, cancelled) = (Event(), Event())
      let number = try workflow.add("number") { 1 }
      let task = try workflow.add("task", after: number) { number in
        started.signal()
        await withTaskCancellationHandler {
          _ = await Event().opened()
        } onCancel: {
          cancelled.signal()
        }
        return number
      }
      if way == 2 { task.timeout = .milliseconds(50) }
      workflow.start()
      #expect(await started.opened())
      if way == 0 { task.cancel() }
      if way == 1 { number.reset() }
      if way == 2 {
        #expect(await eventually { clock.sleeping == 1 })
        clock.advance(by: .milliseconds(50))
      }
      #expect(await cancelled.opened())
      #expect(await eventually { task.state == [.cancelled, .pending, .failed][way] })
      #expect(task.result == nil)
    }
  }

  @Test("a run that is cancelled before its closure begins does not call it")
  func cancelledBefore() async throws {
    let workflow = Workflow(name: "w")
    let (queue, calls) = (OperationQueue(), Counter())
    queue.isSuspended = true
    let number = try workflow.add("number") { 1 }
    let task = try workflow.add("task", after: number, on: queue) { calls.add($0) }
    let outcome = workflow.start()
    #expect(await eventually { number.isFinished && queue.operationCount > 0 })
    task.cancel()
    queue.isSuspended = false
    _ = try await outcome.value
    #expect(task.isCancelled && calls.value == 0)
  }

  /// Cancels a task as soon as it is told that the task has begun.
  private final class Canceller: WorkflowDelegate {
    let starts = Counter()
    func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {
      guard task.name != "number" else { return }
      starts.add()
      task.cancel()
    }
  }

  @Test("a run that is cancelled between its start and its closure does not call it")
  func cancelledInBetween() throws {
    let workflow = inlineWorkflow()
    let (delegate, calls) = (Canceller(), Counter())
    workflow.delegate = delegate
    let number = try workflow.add("number") { 1 }
    let tasks = [
      try workflow.add("one", after: number) { calls.add($0) },
      try workflow.add("array", after: [number]) { calls.add($0.count) },
      try workflow.add("with a run", after: number) { _, number in calls.add(number) },
      try workflow.add("none") { calls.add() },
    ]
    workflow.start()
    #expect(delegate.starts.value == 4 && calls.value == 0)
    #expect(tasks.allSatisfy { $0.isCancelled })
  }

  @Test("inputs belong together, however often prerequisites are reset meanwhile")
  func consistency() async throws {
    let workflow = Workflow(name: "w")
    let (number, faults) = (Counter(), Counter())
    let text = try workflow.add("text") { String(repeating: "x", count: number.add()) }
    let count = try workflow.add("count", after: text) { $0.count }
    let parts = try (0..<4).map { part in
      try workflow.add("part \(part)", after: text) { $0.count }
    }
    let first = try workflow.add("first", after: text, count) { text, count in
      if text.count != count { faults.add() }
    }
    let second = try workflow.add("second", after: parts) { parts in
      if Set(parts).count != 1 { faults.add() }
    }
    workflow.start()
    for _ in 0..<2_000 {
      text.reset()
      workflow.start()
    }
    _ = try await workflow.run()
    #expect(faults.value == 0 && first.isFinished && second.isFinished)
  }

  // MARK: Contexts

  @Test("a closure runs in the context that is given, and else in the workflow's")
  func contexts() async throws {
    let (mine, workflows) = (OperationQueue(), OperationQueue())
    let workflow = Workflow(name: "w", operationQueue: workflows)
    let number = try workflow.add("number") { OperationQueue.current === workflows }
    let own = try workflow.add("own", after: number, on: mine) { _ in
      OperationQueue.current === mine
    }
    let known = try workflow.add("known", after: number, on: mine) { _, _ in
      OperationQueue.current === mine
    }
    let array = try workflow.add("array", after: [number], on: mine) { _ in
      OperationQueue.current === mine
    }
    let arrayKnown = try workflow.add("array known", after: [number], on: mine) { _, _ in
      OperationQueue.current === mine
    }
    let main = try workflow.add("main", after: number, on: .main) { _ in
      // (Not the main thread: another one may serve the main queue.)
      MainActor.assumeIsolated { OperationQueue.current === OperationQueue.main }
    }
    let global = try workflow.add("global", on: .global()) { OperationQueue.current == nil }
    let inline = try workflow.add("inline", on: .inline) { 1 }
    #expect(number.operationQueue === workflows && own.operationQueue === mine)
    #expect(global.operationQueue == nil && inline.operationQueue == nil)
    #expect(try await workflow.run().isFinished)
    for task in [number, own, known, array, arrayKnown, main, global] {
      #expect(task.result == true, "\(task.name)")
    }
  }

  @Test("a closure of a workflow on a context of its own kind runs there")
  func contextOfTheWorkflow() async throws {
    let context = ManualContext()
    let workflow = Workflow(name: "w", context: context)
    let number = try workflow.add("number") { 1 }
    let sum = try workflow.add("sum", after: number) { $0 + 1 }
    workflow.start()
    #expect(number.state == .ready && context.count == 1)
    context.runAll()
    #expect(sum.result == 2)
  }

  // MARK: A running workflow

  @Test("a task that is added to a running workflow starts when its prerequisites have finished")
  func growth() async throws {
    let workflow = Workflow(name: "w")
    let gate = try workflow.add(
      ExternalConditionTask<Int>(name: "gate", waitsForFulfillment: true))
    let numbers = Log<Int>()
    let outcome = workflow.start()
    let late = try workflow.add("late", after: gate) { run, value -> Int in
      // From inside a task, too.
      for number in 0..<10 {
        try run.workflow?.add("\(number)", after: gate) { numbers.append($0 + number) }
      }
      return value
    }
    gate.fulfill(with: 100)
    #expect(try await outcome.value.isFinished)
    #expect(late.result == 100 && numbers.entries.sorted() == Array(100..<110))
    let atOnce = try workflow.add("at once", after: late, gate) { $0 + $1 }
    #expect(try await workflow.run().isFinished)
    #expect(atOnce.result == 200)
  }

  @Test("in a running workflow a task with a context of its own never runs elsewhere")
  func contextInARunningWorkflow() async throws {
    let (mine, faults) = (OperationQueue(), Counter())
    let workflow = Workflow(name: "w")
    let gate = try workflow.add(
      ExternalConditionTask<Int>(name: "gate", waitsForFulfillment: true))
    let number = try workflow.add("number") { 1 }
    let outcome = workflow.start()
    for name in 0..<500 {
      try workflow.add("\(name)", after: number, on: mine) { _ in
        if OperationQueue.current !== mine { faults.add() }
      }
    }
    gate.fulfill(with: 1)
    #expect(try await outcome.value.isFinished)
    #expect(faults.value == 0)
  }

  // MARK: Memory

  @Test("what a closure captures is released with its workflow, and a long row of tasks too")
  func release() async throws {
    let tracker = LifetimeTracker()
    weak var released: Workflow?
    do {
      let workflow = Workflow(name: "w")
      released = workflow
      var last = try workflow.add("0") { 0 }
      for name in 1..<20_000 {
        let object = tracker.make()
        last = try workflow.add("\(name)", after: last) { last in
          object.touch()
          return last + 1
        }
      }
      #expect(try await workflow.run().isFinished)
      #expect(last.result == 19_999 && tracker.alive == 19_999)
    }
    #expect(await eventually { released == nil && tracker.alive == 0 })
  }

  // MARK: A view

  /// As in a program: everything from the main actor, without an annotation.
  @MainActor
  private final class ReportView {
    private let workflow = Workflow(name: "Report")
    private var title = "untitled"
    private var reports: [String] = []
    private let separator = ": "

    func make() async throws -> [String] {
      let author = try workflow.add("author") { "Ada" }
      let pages = try workflow.add("pages", after: author) { author in
        await loaded([author.count, 4])
      }
      let heading = try workflow.add("heading", after: author) { author in
        await self.heading(for: author)
      }
      let separator = separator
      let report = try workflow.add("report", after: heading, pages) { heading, pages in
        heading + separator + "\(pages.reduce(0, +))"
      }
      let checked = try workflow.add("checked", after: [report]) { reports in
        guard let report = reports.first, !report.isEmpty else { throw TestError.first }
        return report
      }
      try workflow.add("shown", after: checked) { checked in await self.show(checked) }
      _ = try await workflow.run()
      return reports
    }

    private func heading(for author: String) -> String { "\(title) by \(author)" }
    private func show(_ report: String) { reports.append(report) }
  }

  @Test("closures that are written in a class of the main actor need no annotation")
  func mainActor() async throws {
    #expect(try await ReportView().make() == ["untitled by Ada: 7"])
  }
}
