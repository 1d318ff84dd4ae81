import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// Says yes, even where nobody can ask.
@Sendable private func always<Value>(_ value: Value) -> Bool { true }

/// How an operator's upstream ends.
enum Upstream: CaseIterable, Sendable {
  case success
  case provided
  case `internal`
  case cancelled

  func task() -> ProducerTask<Int, TestError> {
    switch self {
    case .success: return succeeding(21)
    case .provided: return failing()
    case .internal: return broken()
    case .cancelled:
      let task = succeeding(21)
      task.cancel()
      return task
    }
  }

  /// What passes by an operator that only wants values.
  var passed: Kind? {
    switch self {
    case .success: nil
    case .provided: .provided
    case .internal: .otherInternal
    case .cancelled: .cancelled
    }
  }
}

@Suite("Operators", .timeLimit(.minutes(5)), .oneAtATime)
struct OperatorTests {
  private let queue = TaskQueue()

  /// Runs an operator on an upstream that ends in each way.
  private func check<O: Sendable, F: Error>(
    _ name: String, success: Kind = .success, value: O? = nil, provided: Kind = .provided,
    internal: Kind = .otherInternal, cancelled: Kind = .cancelled,
    isSame: (O, O) -> Bool,
    _ make: (ProducerTask<Int, TestError>) -> ProducerTask<O, F>
  ) async {
    for upstream in Upstream.allCases {
      let stage = make(upstream.task())
      queue.addTask(stage)
      let kind = await stage.outcome()
      let expected =
        switch upstream {
        case .success: success
        case .provided: provided
        case .internal: `internal`
        case .cancelled: cancelled
        }
      #expect(kind == expected, "\(name) of \(upstream)")
      if upstream == .success, let value {
        #expect(stage.success.map { isSame($0, value) } == true, "\(name): \(stage)")
      }
    }
  }

  private func check<O: Sendable & Equatable, F: Error>(
    _ name: String, success: Kind = .success, value: O? = nil, provided: Kind = .provided,
    internal: Kind = .otherInternal, cancelled: Kind = .cancelled,
    _ make: (ProducerTask<Int, TestError>) -> ProducerTask<O, F>
  ) async {
    await check(
      name, success: success, value: value, provided: provided, internal: `internal`,
      cancelled: cancelled, isSame: ==, make)
  }

  @Test("81. map and its key paths change values, and let errors pass")
  func map() async {
    await check("map", value: "21") { $0.map { "\($0)" } }
    await check("key path", value: "21") { $0.map(\.description) }
    await check("two", value: ("21", 21), isSame: { $0 == $1 }) { $0.map(\.description, \.self) }
    await check("three", value: ("21", 21, 21), isSame: { $0 == $1 }) {
      $0.map(\.description, \.self, \.magnitude).map { ($0, $1, Int($2)) }
    }
  }

  @Test("82. What tryMap throws is the provided error; the old one loses its type")
  func tryMap() async {
    await check("tryMap", value: 42) { $0.tryMap { $0 * 2 } }
    await check("throwing", success: .provided) { $0.tryMap { _ -> Int in throw TestError.second } }
    let thrown = succeeding(1).tryMap { _ -> Int in throw InnerError() }
    let old = failing().tryMap { $0 }
    queue.addAll([thrown, old])
    #expect(await thrown.outcome() == .provided)
    #expect(thrown.provided is InnerError)
    #expect(await old.outcome() == .provided)
    #expect(old.provided as? TestError == .first)
    let typed: ProducerTask<Int, TestError> = succeeding(1).tryMap(throwing: TestError.self) {
      _ throws(TestError) in throw .second
    }
    queue.addTask(typed)
    #expect(await typed.outcome() == .provided)
    #expect(typed.provided == .second)
  }

  @Test("83. flatMap goes on with a task of any kind, and leaves its name and quality alone")
  func flatMap() async {
    await check("block", value: "21") { task in task.flatMap { value in succeeding("\(value)") } }
    await check("operator", value: 22) { task in
      task.flatMap { value in succeeding(value).map { $0 + 1 } }
    }
    await check("group", value: 21) { task in
      task.flatMap { value in
        let member = succeeding(value)
        return GroupProducerTask(tasks: (EmptyTask(), member), produced: member)
      }
    }
    await check("failing", success: .provided) { $0.flatMap { _ in failing() } }
    await check("broken", success: .otherInternal) { $0.flatMap { _ in broken() } }
    let inner = Sample<Int>(name: "inner", qos: .utility, priority: .low) { _, finish in
      finish(.success(1))
    }
    let outer = Sample<Int>(name: "outer", qos: .background, priority: .high) { _, finish in
      finish(.success(1))
    }.flatMap { _ in inner }
    queue.addTask(outer)
    #expect(await outer.outcome() == .success)
    #expect(inner.name == "inner")
    #expect(inner.qualityOfService == .utility)
    #expect(inner.queuePriority == .low)
    // On a serial queue: the stage holds no slot while the other runs.
    let serial = TaskQueue(maxConcurrentTaskCount: 1)
    let chain = succeeding(1).flatMap { _ in succeeding(2) }.flatMap { succeeding($0 + 1) }
    serial.addTask(chain)
    #expect(await chain.outcome() == .success)
    #expect(chain.success == 3)
  }

  @Test("83. A cancelled flatMap ends and cancels the task that it goes on with")
  func cancelledFlatMap() async {
    let inner = Manual<Int>()
    let stage = succeeding(1).flatMap { _ in inner }
    queue.addTask(stage)
    await inner.started.opened()
    stage.cancel()
    #expect(stage.kind == .cancelled)
    #expect(stage.isFinished)
    #expect(inner.isCancelled)
    inner.finish(with: .success(1))
    await queue.finished()
    let caught = Manual<Int>()
    let recovery = failing().catch { _ in caught }
    queue.addTask(recovery)
    await caught.started.opened()
    recovery.cancel()
    #expect(recovery.kind == .cancelled)
    #expect(caught.isCancelled)
    caught.finish(with: .success(1))
  }

  @Test("83. A flatMap that would go on with itself, or what waits for it, is found out")
  func flatMapCycle() async {
    let box = Box<ProducerTask<Int, TestError>?>(nil)
    let stage = succeeding(1).flatMap { _ in box.value! }
    let below = stage.map { $0 }
    box.value = below
    queue.addTask(below)
    _ = await below.completion
    // Whoever comes last finds out.
    let kinds = [stage.kind, below.kind]
    #expect(
      kinds.contains(.cycle(["flatMap", "map", "flatMap"]))
        || kinds.contains(.cycle(["map", "flatMap", "map"])))
    box.value = nil
  }

  @Test("84. mapError changes provided errors only; setFailureType works on tasks that cannot fail")
  func errors() async {
    await check("mapError", value: 21) { $0.mapError { _ in InnerError() } }
    let changed = failing(with: .second).mapError { error in
      TestError.numbered(error == .second ? 2 : 0)
    }
    let untyped = EmptyTask().setFailureType(to: TestError.self)
    let cancelled = EmptyTask()
    let typed = cancelled.setFailureType(to: TestError.self)
    cancelled.cancel()
    queue.addAll([changed, untyped, typed])
    #expect(await changed.outcome() == .provided)
    #expect(changed.provided == .numbered(2))
    #expect(await untyped.outcome() == .success)
    #expect(await typed.outcome() == .cancelled)
  }

  @Test("85. replaceNil keeps what is there, and is asked only for nil")
  func replaceNil() async {
    let count = Counter()
    func stage(_ value: Int?) -> ProducerTask<Int, TestError> {
      succeeding(value).replaceNil { count.add() }
    }
    let (there, missing) = (stage(7), stage(nil))
    queue.addAll([there, missing])
    #expect(await there.outcome() == .success)
    #expect(await missing.outcome() == .success)
    #expect(there.success == 7)
    #expect(missing.success == 1)
    #expect(count.value == 1)
    await check("replaceNil", value: 21) { $0.map { Int?.some($0) }.replaceNil { 0 } }
  }

  @Test("86. compactMap of nil is an internal error, what tryCompactMap throws a provided one")
  func compactMap() async {
    await check("compactMap", value: "21") { $0.compactMap { Optional("\($0)") } }
    await check("nil", success: .nilOutput) { $0.compactMap { _ in Int?.none } }
    await check("tryCompactMap", value: "21") { $0.tryCompactMap { Optional("\($0)") } }
    await check("try nil", success: .nilOutput) { $0.tryCompactMap { _ in Int?.none } }
    await check("throws", success: .provided) {
      $0.tryCompactMap { _ -> Int? in throw TestError.second }
    }
  }

  @Test("87. replaceError, ignoreOutput and replaceEmpty")
  func replacing() async {
    await check("replaceError", value: 21, provided: .success) { $0.replaceError { _ in 3 } }
    await check("a value", value: 21, provided: .success) { $0.replaceError(with: 3) }
    let replaced: NonFailProducerTask<Int> = failing().replaceError { $0 == .first ? 5 : 6 }
    queue.addTask(replaced)
    #expect(await replaced.outcome() == .success)
    #expect(replaced.success == 5)
    await check("ignoreOutput", value: (), isSame: { _, _ in true }) { $0.ignoreOutput() }
    await check("a value for Void", value: 9) { $0.ignoreOutput().map { _ in 9 } }
  }

  @Test("88. zip takes all values in order, runs all at once, and fails like the first in order")
  func zip() async {
    await check("two", value: "21a") { $0.zip(succeeding("a")).map { "\($0)\($1)" } }
    await check("six", value: "21abcde") {
      $0.zip(succeeding("a"), succeeding("b"), succeeding("c"), succeeding("d"), succeeding("e"))
        .map { "\($0)\($1)\($2)\($3)\($4)\($5)" }
    }
    let (a, b, c) = (Manual<Int>(), Manual<String>(), Manual<Bool>())
    let all = a.zip(b, c)
    queue.addTask(all)
    for event in [a.started, b.started, c.started] { #expect(await event.opened()) }
    c.finish(with: .failure(.provided(.second)))
    b.finish(with: .failure(.provided(.first)))
    #expect(all.produced == nil)
    a.finish(with: .success(1))
    #expect(await all.outcome() == .provided)
    #expect(all.provided == .first)
    let parts = (0..<1000).map { succeeding($0) as ProducerTask<Int, TestError> }
    let collected = Tasks.collect(parts)
    let sum = Tasks.reduce((1...10).map { succeeding($0) }, 0, +)
    let empty = Tasks.collect([ProducerTask<Int, TestError>]())
    queue.addAll([collected, sum, empty])
    #expect(await collected.outcome() == .success)
    #expect(collected.success == Array(0..<1000))
    #expect(await sum.outcome() == .success)
    #expect(sum.success == 55)
    #expect(await empty.outcome() == .success)
  }

  @Test("88. A cancelled zip ends and cancels what nobody else wants")
  func cancelledZip() async {
    let (a, b) = (Manual<Int>(), Manual<Int>())
    let both = a.zip(b)
    let other = b.map { $0 }
    queue.addAll([both, other])
    await a.started.opened()
    await b.started.opened()
    both.cancel()
    #expect(both.kind == .cancelled)
    #expect(a.isCancelled)
    #expect(!b.isCancelled)
    a.finish(with: .success(1))
    b.finish(with: .success(1))
    #expect(await other.outcome() == .success)
  }

  @Test("89. A zip is as urgent as the most urgent of its members")
  func zipQuality() {
    let classes: [QualityOfService] = [
      .background, .utility, .default, .userInitiated, .userInteractive,
    ]
    for (index, low) in classes.enumerated() {
      for high in classes[index...] {
        let (a, b) = (
          Sample<Int>(qos: low, priority: .low) { _, _ in },
          Sample<Int>(qos: high, priority: .high) { _, _ in }
        )
        #expect(a.zip(b).qualityOfService == high)
        #expect(b.zip(a).qualityOfService == high)
        #expect(a.zip(b).queuePriority == .high)
      }
    }
  }

  #if os(Linux) || os(macOS)
    @Test(
      "90. assertNoFailure lets all but provided errors pass, and traps on those with the place")
    func assertNoFailure() async {
      for upstream in [Upstream.success, .internal, .cancelled] {
        let stage = upstream.task().assertNoFailure("never: ")
        queue.addTask(stage)
        #expect(await stage.outcome() == upstream.passed ?? .success)
      }
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let queue = TaskQueue()
        let stage = failing(with: .second).assertNoFailure(
          "never: ", file: "Place.swift", line: 7)
        queue.addTask(stage)
        _ = await stage.completion
      }
      #expect(message(of: result).contains("Place.swift:7: "))
      #expect(message(of: result).contains("never: second"))
    }
  #endif

  @Test("91. catch goes on with another task for provided errors; internal ones pass")
  func catching() async {
    await check("catch", value: 21, provided: .success) { $0.catch { _ in succeeding(5) } }
    await check("new failure", value: 21, provided: .success) {
      $0.catch { _ in NonFailBlockProducerTask<Int> { _, finish in finish(.success(5)) } }
    }
    await check("fails again", value: 21, provided: .provided) {
      $0.catch { _ in failing(with: .second) }
    }
    let count = Counter()
    let untouched = succeeding(1).catch { _ in
      count.add()
      return succeeding(2)
    }
    queue.addTask(untouched)
    #expect(await untouched.outcome() == .success)
    #expect(count.value == 0)
  }

  @Test("92. tryCatch may throw, and its task's failure is provided; internal errors pass")
  func tryCatch() async {
    await check("tryCatch", value: 21, provided: .success) { $0.tryCatch { _ in succeeding(5) } }
    await check("throws", value: 21) {
      $0.tryCatch { _ -> Sample<Int> in throw TestError.second }
    }
    await check("inner fails", value: 21) { $0.tryCatch { _ in failing(with: .second) } }
    await check("inner broken", value: 21, provided: .otherInternal) {
      $0.tryCatch { _ in broken() }
    }
    let failed = failing().tryCatch { _ in failing(with: .second) }
    queue.addTask(failed)
    #expect(await failed.outcome() == .provided)
    #expect(failed.provided as? TestError == .second)
  }

  struct Item: Codable, Equatable, Sendable {
    var name: String
    var size: Int
  }

  @Test("93. decode and encode with any coder; coding errors are provided ones")
  func coding() async {
    let item = Item(name: "a", size: 2)
    let data = Data(#"{"name":"a","size":2}"#.utf8)
    await check("decode", value: item) {
      $0.map { _ in data }.decode(type: Item.self, decoder: JSONDecoder())
    }
    await check("wrong", success: .provided) {
      $0.map { _ in Data("?".utf8) }.decode(type: Item.self, decoder: JSONDecoder())
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    await check("encode", value: data) { $0.map { _ in item }.encode(encoder: encoder) }
    await check("property list", value: item) {
      $0.map { _ in item }.encode(encoder: PropertyListEncoder())
        .decode(type: Item.self, decoder: PropertyListDecoder())
    }
    await check("encoding fails", success: .provided) {
      $0.map { _ in Double.infinity }.encode(encoder: encoder)
    }
  }

  #if os(Linux) || os(macOS)
    @Test("94. Breakpoints let everything pass, on Void and Never too")
    func breakpoints() async {
      await check("output", value: 21) { $0.breakpointOnOutput { _ in false } }
      await check("failure", value: 21) { $0.breakpointOnFailure { _ in false } }
      let void = EmptyTask().breakpointOnOutput { _ in false }.breakpointOnFailure(
        receiveFailure: always
      )
      .breakpointOnError()
      let value = succeeding(1).breakpointOnError()
      queue.addAll([void, value])
      #expect(await void.outcome() == .success)
      #expect(await value.outcome() == .success)
      #if DEBUG
        await #expect(processExitsWith: .signal(SIGTRAP)) {
          let stage = failing().breakpointOnError()
          TaskQueue().addTask(stage)
          _ = await stage.completion
        }
      #endif
    }
  #endif

  @Test(
    "95. Adding the last stage adds all above it; each runs once; adding one again is no mistake")
  func lastStage() async {
    let count = Counter()
    let first = Sample<Int> { _, finish in finish(.success(count.add())) }
    let second = first.map { $0 + 1 }
    let third = second.map { $0 + 1 }
    queue.addTask(third)
    queue.addTask(first)
    queue.addTask(second)
    #expect(await third.outcome() == .success)
    #expect(third.success == 3)
    #expect(count.value == 1)
    let other = Sample<Int> { _, finish in finish(.success(count.add())) }
    let below = other.map { $0 }
    queue.addTask(other)
    queue.addTask(below)
    #expect(await below.outcome() == .success)
    #expect(count.value == 2)
  }

  @Test("96. One task feeds several stages, and runs once")
  func branches() async {
    let count = Counter()
    let source = Sample<Int> { _, finish in finish(.success(count.add())) }
    let stages = (0..<50).map { index in source.map { $0 + index } }
    queue.addAll(stages)
    for (index, stage) in stages.enumerated() {
      #expect(await stage.outcome() == .success)
      #expect(stage.success == 1 + index)
    }
    let late = source.map { $0 * 100 }
    queue.addTask(late)
    #expect(await late.outcome() == .success)
    #expect(late.success == 100)
    #expect(count.value == 1)
  }

  @Test("97. Each stage has the quality and the priority of what is above it")
  func inheritance() {
    let task = Sample<Int>(name: "top", qos: .utility, priority: .high) { _, _ in }
    let stage = task.map { $0 }.compactMap { Optional($0) }.catch { _ in succeeding(1) }
    #expect(stage.qualityOfService == .utility)
    #expect(stage.queuePriority == .high)
    #expect(stage.name == "catch")
  }

  @Test(
    "98. Cancelled before, while what is above runs, or while it runs itself, a stage ends once")
  func cancelStage() async {
    // In no queue yet.
    let top = Manual<Int>()
    let idle = top.map { $0 }.map { $0 }
    idle.cancel()
    #expect(idle.kind == .cancelled)
    #expect(top.kind == .cancelled)
    // Waiting, in a suspended queue.
    let suspended = TaskQueue(startSuspended: true)
    let upstream = Manual<Int>()
    let log = Log<Int>()
    let waiting = upstream.map { $0 }.map { $0 }.receive { _ in log.append(1) }
    suspended.addTask(waiting)
    waiting.cancel()
    #expect(waiting.kind == .cancelled)
    #expect(upstream.kind == .cancelled)
    suspended.isSuspended = false
    // While what is above runs.
    let running = Manual<Int>()
    let stage = running.map { $0 }.map { $0 }.receive { _ in log.append(2) }
    queue.addTask(stage)
    await running.started.opened()
    stage.cancel()
    #expect(stage.kind == .cancelled)
    #expect(running.isCancelled)
    #expect(!running.isFinished)
    running.finish(with: .success(1))
    #expect(stage.kind == .cancelled)
    // While its own closure runs.
    let (entered, proceed) = (Event(), Event())
    let busy = succeeding(1).map { value in
      entered.signal()
      proceed.waitBlocking()
      return value
    }.receive { _ in log.append(3) }
    let below = busy.map { $0 }
    queue.addTask(below)
    await entered.opened()
    below.cancel()
    #expect(below.kind == .cancelled)
    #expect(busy.kind == .cancelled)
    proceed.signal()
    await queue.finished()
    #expect(busy.kind == .cancelled)
    #expect(log.entries == [1, 2, 3])
  }

  @Test("98. What somebody else wants is not cancelled with a stage")
  func cancelBranch() async {
    let source = Manual<Int>()
    let (one, other) = (source.map { $0 }, source.map { $0 + 1 })
    one.cancel()
    #expect(!source.isCancelled)
    queue.addTask(other)
    await source.started.opened()
    source.finish(with: .success(1))
    #expect(await other.outcome() == .success)
    let shared = Manual<Int>()
    let base = shared.share()
    let (first, second) = (base.map { $0 }, base.map { $0 })
    queue.addAll([first, second])
    await shared.started.opened()
    first.cancel()
    #expect(!shared.isCancelled)
    second.cancel()
    #expect(shared.isCancelled)
    shared.finish(with: .success(1))
  }

  @Test("98. What a stage in no queue yet is built on is not cancelled with another stage")
  func cancelBesideUnqueuedBranch() async {
    let source = Manual<Int>()
    let (first, second) = (source.map { $0 }, source.map { $0 + 1 })
    queue.addTask(first)
    await source.started.opened()
    first.cancel()
    #expect(first.kind == .cancelled && !source.isCancelled)
    queue.addTask(second)
    source.finish(with: .success(1))
    #expect(await second.outcome() == .success)
    // The last of them takes it along, in a queue or not.
    let shared = Manual<Int>()
    let base = shared.share()
    let (one, other) = (base.map { $0 }, base.map { $0 })
    queue.addTask(one)
    await shared.started.opened()
    one.cancel()
    #expect(!shared.isCancelled)
    other.cancel()
    #expect(shared.isCancelled)
    shared.finish(with: .success(1))
    // One that is let go of does not count any more.
    let last = Manual<Int>()
    let only = last.map { $0 }
    do { _ = last.map { $0 } }
    queue.addTask(only)
    await last.started.opened()
    only.cancel()
    #expect(last.isCancelled)
    last.finish(with: .success(1))
  }

  @Test("99. A task that was cancelled alone passes that on through all operators")
  func cancelUpstream() async {
    let source = Manual<Int>()
    let stage = source.map { $0 }.tryMap { $0 }.tryCatch { _ in succeeding(1) }
      .catch { _ in succeeding(2) }.replaceError { _ in 3 }
    queue.addTask(stage)
    await source.started.opened()
    source.cancel()
    source.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    #expect(await stage.outcome() == .cancelled)
    #expect(stage.isCancelled)
    let before = Manual<Int>()
    before.cancel()
    let below = before.map { $0 }.mapError { _ in InnerError() }
    queue.addTask(below)
    #expect(await below.outcome() == .cancelled)
  }

  @Test("100. A chain that is built and dropped leaves nothing behind")
  func dropped() async {
    let tracker = LifetimeTracker()
    do {
      let tracked = tracker.make()
      let source = Sample<Int> { _, finish in
        tracked.touch()
        finish(.success(1))
      }.addCondition(Conditions.MutuallyExclusive<OperatorTests>())
      let stage = source.map { value in
        tracked.touch()
        return value
      }.flatMap { value in
        tracked.touch()
        return succeeding(value)
      }.zip(source).receive { _ in tracked.touch() }
      let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: source) {
        _, _, _ in tracked.touch()
      }
      consumer.addDependency(stage)
      _ = stage.timeout(after: .seconds(100)).mapToValue(on: .inline) { _ in tracked.touch() }
    }
    #expect(tracker.alive == 0)
    let free = succeeding(1).addCondition(Conditions.MutuallyExclusive<OperatorTests>())
    queue.addTask(free)
    #expect(await free.outcome() == .success)
  }

  @Test("100. A chain that has run leaves nothing behind")
  func ran() async {
    let tracker = LifetimeTracker()
    for isCancelled in [false, true] {
      let tracked = tracker.make()
      let stage = Sample<Int> { _, finish in
        tracked.touch()
        finish(.success(1))
      }.map { value in
        tracked.touch()
        return value
      }.flatMap { value in
        tracked.touch()
        return succeeding(value)
      }.receive { _ in tracked.touch() }
      queue.addTask(stage)
      if isCancelled { stage.cancel() }
      _ = await stage.completion
    }
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test("104. filter, first, contains, handleEvents, printEvents, delay, timeout, measureInterval")
  func others() async {
    await check("filter", value: 21) { $0.filter { $0 == 21 } }
    await check("filtered out", success: .nilOutput) { $0.filter { _ in false } }
    await check("tryFilter", value: 21) { $0.tryFilter { $0 == 21 } }
    await check("throwing filter", success: .provided) {
      $0.tryFilter { _ in throw TestError.second }
    }
    await check("first", value: 3) { $0.map { _ in [3, 4] }.first() }
    await check("first where", value: 4) { $0.map { _ in [3, 4] }.first { $0 > 3 } }
    await check("no first", success: .nilOutput) { $0.map { _ in [Int]() }.first() }
    await check("contains", value: true) { $0.contains(21) }
    await check("contains where", value: false) { $0.contains { $0 < 0 } }
    await check("allSatisfy", value: true) { $0.allSatisfy { $0 == 21 } }
    await check("delay", value: 21) { $0.delay(for: .milliseconds(2)) }
    await check("timeout", value: 21) { $0.timeout(after: .seconds(100)) }
    await check("erased", value: 21) { $0.eraseToProducerTask() }
    let log = Log<String>()
    await check("handleEvents", value: 21) {
      $0.handleEvents(
        receiveOutput: { log.append("value \($0)") },
        receiveFailure: { log.append($0.errorDescription.map { _ in "error" } ?? "") },
        receiveCancel: { log.append("cancel") })
    }
    #expect(log.entries == ["value 21", "error", "error", "cancel"])
    let lines = Log<String>()
    await check("printEvents", value: 21) { $0.printEvents("task") { lines.append($0) } }
    #expect(lines.entries.first == "task: received value: (21)")
    #expect(lines.entries.last == "task: received cancel")
    let measured = succeeding(1).delay(for: .milliseconds(5)).measureInterval()
    let late = Manual<Int>()
    let limited = late.timeout(after: .milliseconds(5))
    queue.addAll([measured, limited])
    #expect(await measured.outcome() == .success)
    #expect(measured.success! >= .milliseconds(5))
    #expect(await limited.outcome() == .timeout)
    #expect(await eventually { late.isCancelled })
    if !late.isFinished { late.finish(with: .success(1)) }
    let delayed: ProducerTask<Int, TestError> = succeeding(1).delay(for: .seconds(1000))
    queue.addTask(delayed)
    #expect(await eventually { delayed.isExecuting })
    delayed.cancel()
    #expect(delayed.kind == .cancelled)
  }

  @Test("104. retry with no attempts is a stage of its own that passes everything on")
  func retryNever() async {
    for count in [0, -1] {
      for upstream in Upstream.allCases {
        let top = upstream.task()
        let stage = top.retry(count) { _ in succeeding(1) }
        #expect(stage !== top)
        queue.addTask(top)
        // (Its upstream is in the queue already, and stays there.)
        queue.addTask(stage)
        let expected = await top.outcome()
        #expect(await stage.outcome() == expected)
        #expect(stage.produced.map { "\($0)" } == top.produced.map { "\($0)" })
      }
    }
    let top = Manual<Int>()
    let stage = top.retry(0) { _ in succeeding(1) }
    queue.addTask(stage)
    await top.started.opened()
    stage.cancel()
    #expect(stage.kind == .cancelled && top.isCancelled && !top.isFinished)
    top.finish(with: .success(1))
    await queue.finished()
  }

  @Test("104. retry makes new tasks for provided errors, as often as it is told, after its delays")
  func retry() async {
    let count = Counter()
    @Sendable func attempt() -> Sample<Int> {
      Sample { _, finish in
        finish(count.add() < 3 ? .failure(.provided(.first)) : .success(count.value))
      }
    }
    let task = attempt().retry(5, delay: .milliseconds(1)) { _ in attempt() }
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(task.success == 3)
    let delays = Log<Int>()
    let hopeless = failing().retry(2) { attempt in
      delays.append(attempt)
      return .milliseconds(attempt)
    } _: { _ in
      failing(with: .second)
    }
    queue.addTask(hopeless)
    #expect(await hopeless.outcome() == .provided)
    #expect(hopeless.provided == .second)
    #expect(delays.entries == [1, 2])
    let made = Counter()
    let cancelled = broken().retry(3) { _ in
      made.add()
      return succeeding(1)
    }
    queue.addTask(cancelled)
    #expect(await cancelled.outcome() == .otherInternal)
    #expect(made.value == 0)
  }

  @Test("104. The first of several to succeed wins, and the others are cancelled")
  func firstOf() async {
    let (slow, other, fast) = (Manual<Int>(), failing(), Manual<Int>())
    let race = slow.firstOf(other, fast)
    queue.addTask(race)
    await slow.started.opened()
    await fast.started.opened()
    fast.finish(with: .success(3))
    #expect(await race.outcome() == .success)
    #expect(race.success == 3)
    #expect(await eventually { slow.isCancelled })
    slow.finish(with: .success(1))
    let failed = failing(with: .second).firstOf(failing())
    let none = Tasks.firstOf([ProducerTask<Int, TestError>]())
    let merged = succeeding(1).collect(with: succeeding(2), succeeding(3))
    queue.addAll([failed, none, merged])
    #expect(await failed.outcome() == .provided)
    #expect(failed.provided == .second)
    #expect(await none.outcome() == .nilOutput)
    #expect(await merged.outcome() == .success)
    #expect(merged.success == [1, 2, 3])
  }

  @Test("The combinators of futures work on tasks")
  func futures() async throws {
    let task = succeeding(20)
    let future = task.mapToValue(on: .global()) { $0 + 1 }.mapToValue(on: queue) { $0 * 2 }
    queue.addTask(task)
    #expect(try await future.value == 42)
    let cancelled = Manual<Int>()
    let below = cancelled.mapToValue(on: .inline) { $0 }
    queue.addTask(cancelled)
    await cancelled.started.opened()
    below.cancel()
    #expect(cancelled.isCancelled)
    cancelled.finish(with: .success(1))
    let never: Future<Int>
    do {
      let dropped = succeeding(1)
      never = dropped.mapToValue(on: .inline) { $0 }
    }
    await #expect(throws: ProperationsError.self) { try await never.value }
  }
}
