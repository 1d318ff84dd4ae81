import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// What the lines of the checklist say in passing.
@Suite("Details of the checklist", .timeLimit(.minutes(5)), .oneAtATime)
struct ChecklistDetailTests {
  private let queue = TaskQueue()

  @Test("5. Eight threads that read and one that finishes never see a task done without a result")
  func resultsAreVisibleFirst() async {
    let ended = await RaceHarness(threads: 8, rounds: 300).run { _ in
      let task = Manual<Int>()
      TaskQueue().addTask(task)
      task.started.waitBlocking()
      return task
    } act: { task, thread in
      if thread == 0 { return task.finish(with: .success(7)) }
      for _ in 0..<20 {
        let isFinished = task.isFinished
        let produced = task.produced
        if isFinished, produced == nil { Issue.record("finished without a result") }
        if let produced, produced != .success(7) { Issue.record("\(produced)") }
      }
    } check: { task, _ in
      if !task.isFinished || task.success != 7 { Issue.record("\(task)") }
    }
    #expect(ended)
  }

  @Test("6. The families of async blocks exist too")
  func asyncAliases() {
    #expect(NonFailAsyncBlockTask.self == AsyncBlockProducerTask<Void, Never>.self)
    #expect(NonFailAsyncBlockProducerTask<Int>.self == AsyncBlockProducerTask<Int, Never>.self)
    #expect(
      NonFailAsyncBlockConsumerTask<Int>.self
        == AsyncBlockConsumerProducerTask<Int, Void, Never>.self)
  }

  @Test("10. Nothing public is just called Task, Observer, Condition or Executor")
  func names() throws {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources")
    var count = 0
    for path in try FileManager.default.subpathsOfDirectory(atPath: sources.path)
    where path.hasSuffix(".swift") {
      let text = try String(contentsOf: sources.appendingPathComponent(path), encoding: .utf8)
      count += 1
      // (In a namespace, and so indented, is fine.)
      let bare =
        /\n(public|open) (final )?(class|struct|enum|actor|protocol|typealias) (Task|Observer|Condition|Executor)\b/
      #expect(text.firstMatch(of: bare) == nil, "\(path)")
    }
    #expect(count > 50, "the sources were not found")
  }

  @Test("13. Handlers can run on an operation queue")
  func operationQueue() async {
    let handlers = OperationQueue()
    handlers.name = "handlers"
    let log = Log<String?>()
    let done = Event()
    let task = succeeding(1).receive { _ in log.append(OperationQueue.current?.name) }
      .receive { _ in done.signal() }.receive(on: handlers)
    queue.addTask(task)
    #expect(await done.opened())
    #expect(log.entries == ["handlers"])
    // Late ones too.
    let late = Event()
    task.receive { _ in
      log.append(OperationQueue.current?.name)
      late.signal()
    }
    #expect(await late.opened())
    #expect(log.entries == ["handlers", "handlers"])
  }

  @Test("38. A gated task that is cancelled before it runs cancels its operation, unstarted")
  func gatedCancelledBefore() async {
    let count = Counter()
    let operation = BlockOperation { count.add() }
    let suspended = TaskQueue(startSuspended: true)
    let task = GatedTask(operation: operation)
    suspended.addTask(task)
    task.cancel()
    #expect(task.kind == .cancelled)
    #expect(operation.isCancelled)
    let idle = BlockOperation { count.add() }
    let never = GatedTask(operation: idle)
    never.cancel()
    #expect(never.kind == .cancelled)
    #expect(idle.isCancelled)
    suspended.isSuspended = false
    await suspended.finished()
    #expect(count.value == 0)
  }

  @Test("51. What is produced into a group that was cancelled ends, and does not run")
  func produceIntoCancelledGroup() async {
    let member = Manual<Int>()
    let group = GroupTask<TestError>(tasks: [member])
    queue.addTask(group)
    await member.started.opened()
    group.cancel()
    let (new, added) = (Manual<Int>(), Manual<Int>())
    member.produce(new: new)
    group.addTask(added)
    #expect(await new.outcome() == .cancelled)
    #expect(await added.outcome() == .cancelled)
    member.finish(with: .success(1))
    #expect(await group.outcome() == .cancelled)
    #expect(new.executions.value == 0)
    #expect(added.executions.value == 0)
  }

  @Test("59. A cancelled operation that is no task is minded, one of a dependency's own is not")
  func cancelledDependencies() async {
    let operation = BlockOperation {}
    operation.cancel()
    let minds = Manual<Int>().addCondition(Conditions.NoCancelledDependencies())
    minds.addDependency(operation)
    let above = Manual<Int>()
    above.cancel()
    let between = succeeding(1).addDependency(above)
    let fine = succeeding(1).addDependency(between)
      .addCondition(Conditions.NoCancelledDependencies())
    queue.addAll([minds, between, fine])
    OperationQueue().addOperation(operation)
    #expect(await minds.outcome() == .conditions)
    #expect(await fine.outcome() == .success)
  }

  @Test("69. A consuming group's result is that of the member named, in all three kinds")
  func consumingGroupResult() async {
    for member in [succeeding(4), failing(), broken()] {
      let source = succeeding("in")
      let group = GroupConsumerProducerTask(
        producing: source, tasks: (EmptyTask(), member), produced: member)
      queue.addAll([source, group])
      _ = await group.completion
      #expect(group.produced == member.produced)
      let built = GroupConsumerProducerTask(producing: source, produced: member) { EmptyTask() }
      queue.addTask(built)
      _ = await built.completion
      #expect(built.produced == member.produced)
    }
  }

  @Test("76. Cancelled while it waits, a consuming group ends with its members, not its producer")
  func cancelConsumingGroup() async {
    let source = Manual<Int>()
    let member = Manual<Int>()
    let group = GroupConsumerTask<Int, TestError>(producing: source, tasks: [member])
    queue.addAll([source, group])
    await source.started.opened()
    group.cancel()
    #expect(group.kind == .cancelled)
    #expect(member.kind == .cancelled)
    // (The user has added it for its own sake.)
    #expect(!source.isCancelled && !source.isFinished)
    source.finish(with: .success(1))
    await queue.finished()
    #expect(member.executions.value == 0)
  }

  #if DEBUG
    #if os(Linux) || os(macOS)
      @Test("94. Breakpoints stop when the test says so, and not otherwise")
      func breakpoints() async {
        await #expect(processExitsWith: .signal(SIGTRAP)) {
          let queue = TaskQueue()
          let stage = succeeding(1).breakpointOnOutput { $0 == 1 }
          queue.addTask(stage)
          _ = await stage.completion
        }
        await #expect(processExitsWith: .signal(SIGTRAP)) {
          let queue = TaskQueue()
          let stage = failing().breakpointOnFailure { $0 == .first }
          queue.addTask(stage)
          _ = await stage.completion
        }
        await #expect(processExitsWith: .signal(SIGTRAP)) {
          let queue = TaskQueue()
          let stage = broken().breakpointOnError()
          queue.addTask(stage)
          _ = await stage.completion
        }
        await #expect(processExitsWith: .success) {
          let queue = TaskQueue()
          let internalError = broken().breakpointOnFailure { _ in true }
          let failure = failing().breakpointOnOutput { _ in true }
          let value = succeeding(1).breakpointOnFailure { _ in true }.breakpointOnError()
          queue.addAll([internalError, failure, value])
          _ = await internalError.completion
          _ = await failure.completion
          _ = await value.completion
        }
      }
    #endif
  #endif

  @Test("98. A stage that is cancelled by its own closure is cancelled, whatever that returns")
  func cancelledByItsClosure() async {
    let box = Box<ProducerTask<Int, TestError>?>(nil)
    let ready = Event()
    let stage = succeeding(1).map { value in
      ready.wait()
      box.value?.cancel()
      return value
    }
    box.value = stage
    ready.signal()
    let below = stage.map { $0 + 1 }
    queue.addTask(below)
    #expect(await below.outcome() == .cancelled)
    #expect(stage.kind == .cancelled)
    box.value = nil
  }
}
