import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// How the tasks of these tests end.
private enum Ending: CaseIterable, Sendable {
  case success
  case failure
  case cancellation
  /// It has succeeded before the handler is added.
  case before

  var expected: Kind {
    switch self {
    case .success, .before: .success
    case .failure: .provided
    case .cancellation: .cancelled
    }
  }

  /// Adds handlers to a task, and makes it end in this way.
  func end(
    in queue: TaskQueue, isolation: isolated (any Actor)? = #isolation,
    _ attach: (ProducerTask<Int, TestError>) -> Void
  ) async -> ProducerTask<Int, TestError> {
    let task: ProducerTask<Int, TestError> = self == .failure ? failing() : succeeding(7)
    if self == .before {
      queue.addTask(task)
      _ = await task.completion
    }
    attach(task)
    if self == .cancellation { task.cancel() } else if self != .before { queue.addTask(task) }
    return task
  }
}

extension Result {
  fileprivate func kind<Provided: Error>() -> Kind
  where Failure == ProducerTaskProtocolError<Provided> {
    switch self {
    case .success: .success
    case .failure(.provided): .provided
    case .failure(let error): error.isCancelled ? .cancelled : .otherInternal
    }
  }
}

/// A view model as it is written: nothing in it says where a closure runs.
@MainActor
private final class ViewModel {
  private(set) var seen: [Kind] = [] {
    didSet { MainActor.preconditionIsolated() }
  }
  var number = 0 {
    didSet { MainActor.preconditionIsolated() }
  }

  func receive(_ task: ProducerTask<Int, TestError>) {
    task.receive { (result) in self.seen.append(result.kind()) }
  }

  func receiveOnMain(_ task: ProducerTask<Int, TestError>) {
    task.receive(on: .main).receive { self.seen.append($0.kind()) }
  }

  func receiveElsewhere(_ task: ProducerTask<Int, TestError>) {
    task.receive(on: DispatchQueue(label: "elsewhere")).receive { self.seen.append($0.kind()) }
  }

  func receiveWeakly(_ task: ProducerTask<Int, TestError>) {
    task.receive { [weak self] result in
      guard let self else { return }
      seen.append(result.kind())
    }
  }

  func receiveByMethod(_ task: ProducerTask<Int, TestError>) {
    task.receive(completion: note)
  }

  private func note(_ result: ProducerTask<Int, TestError>.Produced) {
    seen.append(result.kind())
  }

  func receiveFromStage(_ task: ProducerTask<Int, TestError>) {
    let stage = task.map { $0 + 1 }
    stage.receive { self.seen.append($0.kind()) }
    TaskQueue().addTask(stage)
  }

  func receiveFromFinishedStage(_ task: ProducerTask<Int, TestError>) async {
    let stage = task.map { $0 + 1 }
    TaskQueue().addTask(stage)
    _ = await stage.completion
    stage.receive { self.seen.append($0.kind()) }
  }

  func receiveGenerically<T: ProducerTaskProtocol>(_ task: T) where T.Failure == TestError {
    task.receive { self.seen.append($0.kind()) }
  }

  func assign(_ task: ProducerTask<Int, TestError>) {
    task.assign(to: \.number, on: self)
  }

  func assignGenerically<T: ProducerTaskProtocol>(_ task: T) where T.Output == Int {
    task.assign(to: \.number, on: self)
  }

  func receiveTwiceAndAssign(_ task: ProducerTask<Int, TestError>, _ log: Log<String>) {
    task.assign(to: \.number, on: self)
      .receive { _ in log.append("first \(self.number)") }
      .receive(on: .main)
      .receive { _ in log.append("second \(self.number)") }
  }

  /// Blocks the main thread.
  func wait(for task: ProducerTask<Int, TestError>) -> Int? {
    try? task.wait(timeout: Event.patience)
  }
}

private typealias CallSite = @MainActor (ViewModel, ProducerTask<Int, TestError>) -> Void

private actor Accountant {
  private(set) var sum = 0

  func add(_ task: ProducerTask<Int, TestError>, _ done: Event) {
    task.receive { result in
      self.sum += (try? result.get()) ?? -1
      done.signal()
    }
  }
}

/// Keeps what its handlers are called for.
private actor Ledger {
  private(set) var entries: [Int] = []
  let isFull = Event()

  func add(_ count: Int, to task: ProducerTask<Int, TestError>) {
    for number in 0..<count {
      task.receive { _ in
        self.entries.append(number)
        if self.entries.count == count { self.isFull.signal() }
      }
    }
  }
}

/// Adds handlers when its queue tells that a task has finished: after all other handlers.
private final class LateListener: TaskQueueDelegate {
  let log = Log<String>()

  func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, didFinish task: T) {
    guard let task = task as? Sample<Int> else { return }
    task.receive { [log] _ in
      log.append("first")
      task.receive { _ in log.append("third") }
    }
    task.receive { [log] _ in log.append("second") }
  }
}

@Suite("Where handlers run", .timeLimit(.minutes(5)), .oneAtATime)
struct HandlerContextTests {
  private let queue = TaskQueue()

  // MARK: On the main actor

  private static let callSites: [(String, CallSite)] = [
    ("receive", { $0.receive($1) }),
    ("receive(on: .main).receive", { $0.receiveOnMain($1) }),
    ("receive(on: queue).receive", { $0.receiveElsewhere($1) }),
    ("[weak self]", { $0.receiveWeakly($1) }),
    ("a method", { $0.receiveByMethod($1) }),
    ("a generic task", { $0.receiveGenerically($1) }),
  ]

  @Test(
    "A closure that is written in a class on the main actor runs there, however the task ends",
    arguments: Ending.allCases)
  @MainActor
  private func closureInClass(_ ending: Ending) async {
    for (name, callSite) in Self.callSites {
      let model = ViewModel()
      _ = await ending.end(in: queue) { callSite(model, $0) }
      #expect(await eventually { !model.seen.isEmpty }, "\(name)")
      #expect(model.seen == [ending.expected], "\(name)")
    }
  }

  @Test("A closure in the middle of a chain runs on main, before and after the end of its stage")
  @MainActor
  func closureOfStage() async {
    let model = ViewModel()
    model.receiveFromStage(succeeding(1))
    #expect(await eventually { model.seen == [.success] })
    await model.receiveFromFinishedStage(failing())
    #expect(await eventually { model.seen == [.success, .provided] })
  }

  @Test(
    "What is assigned in a class on the main actor is written there", arguments: Ending.allCases)
  @MainActor
  private func assignment(_ ending: Ending) async {
    for isGeneric in [false, true] {
      let model = ViewModel()
      let task = await ending.end(in: queue) {
        if isGeneric { model.assignGenerically($0) } else { model.assign($0) }
        model.receive($0)
      }
      _ = await task.completion
      #expect(await eventually { model.number == 7 || !model.seen.isEmpty })
      #expect(await eventually { model.number == (ending.expected == .success ? 7 : 0) })
    }
  }

  @Test("A closure that says it is on the main actor runs there, whoever adds it")
  func annotatedClosure() async {
    let model = await MainActor.run { ViewModel() }
    let (done, isOnMain) = (Event(), Box(false))
    let task = succeeding(7)
    task.receive { @MainActor result in
      model.number = result.successOrNil ?? 0
      isOnMain.value = Thread.isMainThread || DispatchQueue.getSpecific(key: mainKey) != nil
      done.signal()
    }
    queue.addTask(task)
    #expect(await done.opened())
    #expect(await model.number == 7)
  }

  @Test("The handlers on the main queue run in their order, assignments last")
  @MainActor
  func order() async {
    let log = Log<String>()
    let model = ViewModel()
    let task = succeeding(7)
    model.receiveTwiceAndAssign(task, log)
    queue.addTask(task)
    #expect(await eventually { model.number == 7 })
    #expect(log.entries == ["first 0", "second 0"])
  }

  @Test("A handler with the inline context runs where the task finishes, also in such a class")
  @MainActor
  func inlineClosure() async {
    let task = Manual<Int>()
    let ran = Counter()
    task.receive(on: .inline) { _ in ran.add() }
    queue.addTask(task)
    await task.started.opened()
    task.finish(with: .success(1))
    // (In place: there was no hop.)
    #expect(ran.value == 1)
  }

  // MARK: Elsewhere

  @Test("A closure in an actor that uses the actor runs on it")
  func closureInActor() async {
    let accountant = Accountant()
    for ending in Ending.allCases {
      let done = Event()
      let task = await ending.end(in: queue) { _ in }
      await accountant.add(task, done)
      #expect(await done.opened())
    }
    #expect(await accountant.sum == 7 + -1 + -1 + 7)
  }

  @Test("A handler with a context runs there, whatever `receive(on:)` says")
  func contextOfHandler() async {
    let key = DispatchSpecificKey<String>()
    let (common, own) = (DispatchQueue(label: "common"), DispatchQueue(label: "own"))
    common.setSpecific(key: key, value: "common")
    own.setSpecific(key: key, value: "own")
    let operations = OperationQueue()
    operations.name = "operations"
    for ending in Ending.allCases {
      let log = Log<String>()
      let task = await ending.end(in: queue) { task in
        task.receive(on: common)
        task.receive { _ in log.append("a \(DispatchQueue.getSpecific(key: key) ?? "")") }
        task.receive(on: own) { _ in log.append("b \(DispatchQueue.getSpecific(key: key) ?? "")") }
        task.receive(on: operations) { _ in log.append("c \(OperationQueue.current?.name ?? "")") }
        task.receive(on: .inline) { _ in
          log.append("d \(DispatchQueue.getSpecific(key: key) ?? "")")
        }
      }
      _ = await task.completion
      #expect(log.entries.contains("d "))
      #expect(await eventually { log.count == 4 })
      #expect(Set(log.entries) == ["a common", "b own", "c operations", "d "])
    }
  }

  @Test("A context of the user's gets each handler once, and may drop it")
  func contextOfUsers() async {
    let context = ManualContext()
    let ran = Counter()
    let task = succeeding(7).receive(on: context) { _ in ran.add() }
    queue.addTask(task)
    _ = await task.completion
    #expect(ran.value == 0)
    context.runAll()
    #expect(ran.value == 1)

    struct Dropping: ExecutionContext {
      func execute(_ operation: Operation) {}
    }
    let member = succeeding(7).receive(on: Dropping()) { _ in ran.add() }
    let group = GroupProducerTask<Int, TestError>(tasks: [member], produced: member)
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(ran.value == 1)
  }

  // MARK: Being told

  @Test("A thread that blocks the main queue is told before the handlers there have run")
  @MainActor
  func waitingOnMain() async {
    let model = ViewModel()
    let task = succeeding(7)
    model.receive(task)
    queue.addTask(task)
    #expect(model.wait(for: task) == 7)
    #expect(model.seen.isEmpty)
    #expect(await eventually { model.seen == [.success] })
  }

  @Test("Waiting on main for a group whose member has a handler there throws, and never hangs")
  @MainActor
  func waitingForGroupOnMain() async {
    let model = ViewModel()
    let member = succeeding(7)
    model.receive(member)
    let group = GroupProducerTask<Int, TestError>(tasks: [member], produced: member)
    queue.addTask(group)
    func wait() -> (any Error)? {
      do {
        try group.wait(timeout: Event.patience)
        return nil
      } catch {
        return error
      }
    }
    #expect(wait() as? ProperationsError == .wouldDeadlock(queue: "the main queue"))
    #expect(await group.outcome() == .success)
    #expect(model.seen == [.success])
  }

  @Test("A handler on main that came after a member had told its waiters holds up no group")
  @MainActor
  func lateHandlerOfAMember() async {
    let (handlers, gate) = (OperationQueue(), Event())
    let member = succeeding(7)
    member.receive(on: handlers, completion: { _ in _ = gate.wait() })
    let group = GroupProducerTask<Int, TestError>(tasks: [member], produced: member)
    queue.addTask(group)
    _ = await member.outcome()
    // The group waits for the first handler now.
    let model = ViewModel()
    model.receive(member)
    gate.signal()
    func wait() -> Int? { try? group.wait(timeout: Event.patience) }
    #expect(wait() == 7)
    #expect(await eventually { model.seen == [.success] })
  }

  @Test("A group waits for the handlers of its members on the main queue")
  @MainActor
  func groupAndHandlersOnMain() async {
    final class Sum: GroupProducerTask<Int, TestError>, @unchecked Sendable {
      @MainActor func add(_ member: ProducerTask<Int, TestError>) {
        member.receive { result in self.finish(with: result.map { $0 * 2 }) }
        addTask(member)
      }
    }
    let sum = Sum()
    sum.add(succeeding(7))
    queue.addTask(sum)
    #expect(await sum.outcome() == .success)
    #expect(sum.success == 14)
  }

  // MARK: Order

  @Test(
    "Two hundred handlers on an actor are added before or after the end: they run in this order",
    arguments: [false, true])
  func orderOnAnActor(_ isLate: Bool) async {
    for _ in 0..<20 {
      let (task, ledger) = (succeeding(7), Ledger())
      if isLate {
        queue.addTask(task)
        _ = await task.completion
      }
      await ledger.add(200, to: task)
      if !isLate { queue.addTask(task) }
      #expect(await ledger.isFull.opened())
      #expect(await ledger.entries == Array(0..<200))
    }
  }

  @Test("A handler is added while the last ones run: it runs after them")
  func handlerAddedByALastOne() async {
    let (listener, task) = (LateListener(), succeeding(7))
    let watched = TaskQueue()
    watched.delegate = listener
    watched.addTask(task)
    _ = await task.completion
    #expect(await eventually { listener.log.count == 3 })
    #expect(listener.log.entries == ["first", "second", "third"])
  }

  @Test("What a handler on the main queue has captured is released when it has run")
  @MainActor
  func release() async {
    let tracker = LifetimeTracker()
    for ending in Ending.allCases {
      _ = await ending.end(in: queue) { task in
        let object = tracker.make()
        task.receive { _ in object.touch() }
      }
    }
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test("Handlers of one context, some with the context and some without: run in their order")
  func orderOfHandlers() async {
    let serial = DispatchQueue(label: "serial")
    let log = Log<Int>()
    let first = BlockProducerTask<Int, Never> { _ in 1 }
    first.receive(on: .inline) { _ in log.append(1) }
    first.receive { _ in log.append(2) }
    TaskQueue().addTask(first)
    #expect(await first.outcome() == .success)
    #expect(await eventually { log.count == 2 })
    let second = BlockProducerTask<Int, Never> { _ in 1 }.receive(on: serial)
    second.receive(on: serial) { _ in log.append(3) }
    second.receive { _ in log.append(4) }
    TaskQueue().addTask(second)
    #expect(await second.outcome() == .success)
    #expect(await eventually { log.count == 4 })
    #expect(log.entries == [1, 2, 3, 4])
  }
}

private let mainKey: DispatchSpecificKey<Bool> = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()
