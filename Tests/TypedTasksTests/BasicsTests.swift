import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Basics", .timeLimit(.minutes(5)), .oneAtATime)
struct BasicsTests {
  private let queue = TaskQueue()

  @Test("1. A result is a value, a provided or an internal error")
  func result() async {
    let produced: Result<Int, ProducerTaskProtocolError<TestError>>
    let task = succeeding(1)
    queue.addTask(task)
    _ = await task.completion
    produced = task.produced!
    #expect(produced == .success(1))
    let second = failing()
    let third = broken()
    queue.addAll([second, third])
    #expect(await second.outcome() == .provided)
    #expect(await third.outcome() == .otherInternal)
    #expect(second.produced == .failure(.provided(.first)))
    #expect(third.produced == .failure(.internal(InnerError())))
  }

  final class Later: ProducerTask<Int, TestError>, @unchecked Sendable {
    let isLater: Bool
    init(_ isLater: Bool) {
      self.isLater = isLater
      super.init()
    }
    override func execute() {
      guard isLater else { return finish(with: .success(1)) }
      DispatchQueue.global().async { self.finish(with: .success(2)) }
    }
  }

  @Test("2. Overriding execute() suffices, whether it finishes at once or later elsewhere")
  func subclass() async throws {
    let now = Later(false)
    let later = Later(true)
    queue.addAll([now, later])
    #expect(try await now.value == 1)
    #expect(try await later.value == 2)
  }

  #if os(Linux) || os(macOS)
    @Test("3. A task that does not override its work says so")
    func unimplemented() async {
      let producer = await #expect(
        processExitsWith: .failure, observing: [\.standardErrorContent]
      ) {
        let task = ProducerTask<Int, TestError>()
        TaskQueue().addTask(task)
        _ = await task.completion
      }
      #expect(
        message(of: producer).contains(
          "ProducerTask<Int, TestError>.execute() must be overridden. Do the work there and call "
            + "finish(with:)."))
      let consumer = await #expect(
        processExitsWith: .failure, observing: [\.standardErrorContent]
      ) {
        let source = EmptyTask()
        let task = ConsumerProducerTask<Void, Int, Never>(producing: source)
        let queue = TaskQueue()
        queue.addTask(source)
        queue.addTask(task)
        _ = await task.completion
      }
      #expect(
        message(of: consumer).contains(
          "ConsumerProducerTask<(), Int, Never>.execute(with:) must be overridden. Do the work "
            + "there and call finish(with:)."))
    }
  #endif

  @Test("4. The first finish wins, also when eight threads try at once")
  func finishOnce() async {
    let task = Manual<Int>()
    let log = Log<Int?>()
    task.receive { log.append($0.successOrNil) }
    queue.addTask(task)
    await task.started.opened()
    task.finish(with: .success(1))
    task.finish(with: .success(2))
    task.finish(with: .failure(.provided(.first)))
    #expect(task.success == 1)
    #expect(log.entries == [1])

    let count = Counter()
    let ended = await RaceHarness(threads: 8, rounds: 300).run { _ in
      let task = Manual<Int>()
      task.receive { _ in count.add() }
      TaskQueue().addTask(task)
      task.started.waitBlocking()
      return task
    } act: { task, thread in
      task.finish(with: .success(thread))
    } check: { task, round in
      if task.kind != .success { Issue.record("round \(round)") }
    }
    #expect(ended)
    #expect(count.value == 300)
  }

  @Test("5. There is no result before the task has finished, and the same one afterwards")
  func produced() async {
    let task = Manual<Int>()
    let condition = Unmet(error: .second)
    let failing = Manual<Int>().addCondition(condition)
    #expect(task.produced == nil)
    queue.addTask(task)
    await task.started.opened()
    #expect(task.produced == nil)
    #expect(!task.isFinished)
    task.finish(with: .success(3))
    #expect(task.produced == .success(3))
    #expect(task.isFinished)
    #expect(failing.produced == nil)
    queue.addTask(failing)
    #expect(await failing.outcome() == .conditions)
    #expect(failing.isFinished)
  }

  @Test("6. The families of names exist")
  func aliases() {
    #expect(VoidTask<TestError>.self == ProducerTask<Void, TestError>.self)
    #expect(NonFailTask.self == ProducerTask<Void, Never>.self)
    #expect(NonFailProducerTask<Int>.self == ProducerTask<Int, Never>.self)
    #expect(ConsumerTask<Int, TestError>.self == ConsumerProducerTask<Int, Void, TestError>.self)
    #expect(NonFailConsumerTask<Int>.self == ConsumerProducerTask<Int, Void, Never>.self)
    #expect(
      NonFailConsumerProducerTask<Int, Bool>.self == ConsumerProducerTask<Int, Bool, Never>.self)
    #expect(GroupTask<TestError>.self == GroupProducerTask<Void, TestError>.self)
    #expect(NonFailGroupTask.self == GroupProducerTask<Void, Never>.self)
    #expect(NonFailGroupProducerTask<Int>.self == GroupProducerTask<Int, Never>.self)
    #expect(
      GroupConsumerTask<Int, TestError>.self
        == GroupConsumerProducerTask<Int, Void, TestError>.self)
    #expect(NonFailGroupConsumerTask<Int>.self == GroupConsumerProducerTask<Int, Void, Never>.self)
    #expect(
      NonFailGroupConsumerProducerTask<Int, Bool>.self
        == GroupConsumerProducerTask<Int, Bool, Never>.self)
    #expect(BlockTask<TestError>.self == BlockProducerTask<Void, TestError>.self)
    #expect(NonFailBlockTask.self == BlockProducerTask<Void, Never>.self)
    #expect(NonFailBlockProducerTask<Int>.self == BlockProducerTask<Int, Never>.self)
    #expect(
      BlockConsumerTask<Int, TestError>.self
        == BlockConsumerProducerTask<Int, Void, TestError>.self)
    #expect(NonFailBlockConsumerTask<Int>.self == BlockConsumerProducerTask<Int, Void, Never>.self)
    #expect(
      NonFailBlockConsumerProducerTask<Int, Bool>.self
        == BlockConsumerProducerTask<Int, Bool, Never>.self)
    #expect(AsyncBlockTask<TestError>.self == AsyncBlockProducerTask<Void, TestError>.self)
  }

  @Test("7. A task is called like its type, or as it is told; quality and priority are taken over")
  func naming() {
    let plain = BlockProducerTask<Int, TestError> { _, _ in }
    #expect(plain.name == "BlockProducerTask<Int, TestError>")
    #expect(plain.qualityOfService == .default)
    #expect(plain.queuePriority == .normal)
    let named = BlockProducerTask<Int, TestError>(
      name: "download", qos: .utility, priority: .veryHigh
    ) { _, _ in }
    #expect(named.name == "download")
    #expect(named.qualityOfService == .utility)
    #expect(named.queuePriority == .veryHigh)
    #expect(named.description.contains("download"))
    #expect(named.createdAt.fileID.hasSuffix("BasicsTests.swift"))
  }

  @Test("8. Success without a value is written .success")
  func voidSuccess() async {
    let task = BlockTask<TestError> { _, finish in finish(.success) }
    queue.addTask(task)
    #expect(await task.outcome() == .success)
  }

  final class Hooked: ProducerTask<Int, TestError>, @unchecked Sendable {
    let log = Log<String>()
    let work: @Sendable (Hooked) -> Void
    init(_ work: @escaping @Sendable (Hooked) -> Void) {
      self.work = work
      super.init()
    }
    override func willEnqueue() { log.append("willEnqueue") }
    override func execute() { work(self) }
    override func finished(with produced: Produced) {
      log.append(isFinished ? "\(kind!)" : "unfinished")
    }
  }

  @Test("9. The hook runs once with the result, for cancellation and unmet conditions too")
  func hook() async {
    let done = Hooked { $0.finish(with: .success(1)) }
    let cancelled = Hooked { _ in }
    cancelled.cancel()
    let unmet = Hooked { _ in }.addCondition(Unmet(error: .first))
    queue.addAll([done, cancelled, unmet])
    #expect(await done.outcome() == .success)
    #expect(await cancelled.outcome() == .cancelled)
    #expect(await unmet.outcome() == .conditions)
    #expect(done.log.entries == ["willEnqueue", "success"])
    #expect(cancelled.log.entries == ["cancelled"])
    #expect(unmet.log.entries == ["willEnqueue", "conditions"])
  }

  @Test("10. Swift's own Task is not hidden")
  func noShadow() async {
    let value = await Task { 1 }.value
    #expect(value == 1)
  }
}

extension Result {
  var successOrNil: Success? { try? get() }
}

extension Event {
  /// For threads that may block.
  func waitBlocking() { wait() }
}

@Suite("Handlers", .timeLimit(.minutes(5)), .oneAtATime)
struct HandlerTests {
  private let queue = TaskQueue()

  final class Model: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: [Int] = []
    var number = 0 {
      didSet {
        lock.withLock { stored.append(number) }
        log.append("assign \(number)")
      }
    }
    let log: Log<String>
    init(_ log: Log<String>) { self.log = log }
  }

  @Test("11. Handlers run in the order in which they were added, once each")
  func order() async {
    let log = Log<String>()
    let task = succeeding(1).receive { _ in log.append("a") }.receive { _ in log.append("b") }
      .receive { _ in log.append("c") }
    queue.addTask(task)
    _ = await task.completion
    #expect(log.entries == ["a", "b", "c"])
  }

  @Test("12. Assignments run on success only, after the handlers, in order")
  func assignment() async {
    let log = Log<String>()
    let model = Model(log)
    let task = succeeding(1).assign(to: \.number, on: model).receive { _ in log.append("a") }
      .assign(to: \.number, on: model).receive { _ in log.append("b") }
    queue.addTask(task)
    _ = await task.completion
    #expect(log.entries == ["a", "b", "assign 1", "assign 1"])
    let failed = failing().assign(to: \.number, on: model)
    queue.addTask(failed)
    _ = await failed.completion
    #expect(log.count == 4)
  }

  @Test(
    "13. Handlers run on the queue that is named, wherever in the chain; otherwise where it ends")
  func receivingQueue() async {
    let key = DispatchSpecificKey<Int>()
    let other = DispatchQueue(label: "other")
    other.setSpecific(key: key, value: 1)
    let log = Log<String>()
    let done = Event()
    let model = Model(log)
    let task = succeeding(1)
      .receive { _ in log.append("first \(DispatchQueue.getSpecific(key: key) ?? 0)") }
      .assign(to: \.number, on: model)
      .receive(on: .main)
      .receive(on: other)
      .receive { _ in log.append("second \(DispatchQueue.getSpecific(key: key) ?? 0)") }
    queue.addTask(task)
    _ = await task.completion
    other.async { done.signal() }
    await done.opened()
    #expect(log.entries == ["first 1", "second 1", "assign 1"])

    let manual = Manual<Int>()
    let thread = Box<ObjectIdentifier?>(nil)
    manual.receive { _ in thread.value = ObjectIdentifier(Thread.current) }
    queue.addTask(manual)
    await manual.started.opened()
    let finishing = Box<ObjectIdentifier?>(nil)
    await withCheckedContinuation { continuation in
      Thread {
        finishing.value = ObjectIdentifier(Thread.current)
        manual.finish(with: .success(1))
        continuation.resume()
      }.start()
    }
    #expect(thread.value == finishing.value)
    #expect(finishing.value != nil)
  }

  @Test("14. A queue that only the task holds is kept until the handlers have run")
  func temporaryQueue() async {
    let done = Event()
    let task = succeeding(1).receive(on: DispatchQueue(label: "temporary")).receive { _ in
      done.signal()
    }
    queue.addTask(task)
    #expect(await done.opened())
  }

  @Test("15. A handler that comes late is called, on the queue if there is one")
  func lateHandler() async {
    let task = succeeding(1)
    queue.addTask(task)
    _ = await task.completion
    let log = Log<Int?>()
    task.receive { log.append($0.successOrNil) }
    #expect(log.entries == [1])
    let key = DispatchSpecificKey<Int>()
    let other = DispatchQueue(label: "other")
    other.setSpecific(key: key, value: 5)
    let done = Event()
    task.receive(on: other).receive { _ in
      log.append(DispatchQueue.getSpecific(key: key))
      done.signal()
    }
    await done.opened()
    #expect(log.entries == [1, 5])
    let model = Model(Log())
    other.suspend()
    task.assign(to: \.number, on: model)
    #expect(model.number == 0)
    other.resume()
    // (On the queue: the model has no lock for its number.)
    #expect(await eventually { other.sync { model.number } == 1 })
  }

  @Test("16. A handler on a stage in the middle gets that stage's result")
  func intermediate() async {
    let log = Log<String>()
    let chain = succeeding(1).receive { log.append("\($0.successOrNil!)") }
      .map { "\($0)!" }.receive { log.append($0.successOrNil!) }
      .compactMap { _ in Int?.none }.receive { log.append($0.isSuccess ? "?" : "nil") }
    queue.addTask(chain)
    _ = await chain.completion
    #expect(log.entries == ["1", "1!", "nil"])
  }

  @available(*, deprecated)
  @Test("17. The old spellings work")
  func oldSpellings() async {
    let log = Log<String>()
    let task: Tasks.Task<TestError> = BlockTask { _, finish in
      finish(.failure(.providedFailure(.first)))
    }
    task.recieve { produced in
      let result: Result<Void, ProducerTaskSeparateError<TestError>> = produced
      if case .failure(let error) = result { log.append("\(error)") }
    }
    task.recieve(on: .main)
    queue.addTask(task)
    _ = await task.completion
    #expect(await eventually { log.count == 1 })
    let done = Event()
    queue.addBlockTask { done.signal() }
    #expect(await done.opened())
    let inner: ProducerTaskProtocolError<TestError> = .internalFailure(InnerError())
    #expect(inner == .internal(InnerError()))
  }
}

extension Result {
  var isSuccess: Bool { successOrNil != nil }
}
