import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("The order of barriers", .timeLimit(.minutes(5)), .oneAtATime)
struct BarrierOrderTests {
  @Test("A barrier with dependencies, a closure after it, a second barrier: all run in this order")
  func barrierBehindDependent() async throws {
    for queue in [OperationQueue.make(limit: -1), .make(limit: 1), .make(limit: 3)] {
      let (source, log) = (Promise<Int>(), Log<String>())
      let first = queue.run(barrier: true, after: source) { () async in log.append("first") }
      let user = queue.run(after: first) { () async in log.append("user") }
      let second = queue.run(barrier: true) { () async in log.append("second") }
      let last = queue.run { () async in log.append("last") }
      source.succeed(with: 1)
      for future in [first, user, second, last] { try await future.value }
      #expect(log.entries == ["first", "user", "second", "last"])
      #expect(await queue.isEmptyEventually())
    }
  }

  @Test("A barrier becomes ready late: stands in front of the barriers that wait for it")
  func lateBarriers() async throws {
    let queue = OperationQueue.make(limit: -1)
    let (sources, log) = ([Promise<Int>(), Promise<Int>()], Log<String>())
    let first = queue.run(barrier: true, after: sources[0]) { () async in log.append("first") }
    let other = queue.run(barrier: true, after: sources[1]) { () async in log.append("other") }
    let user = queue.run(after: first) { () async in log.append("user") }
    let second = queue.run(barrier: true) { () async in log.append("second") }
    let between = queue.run { () async in log.append("between") }
    let userOfOther = queue.run(after: other) { () async in log.append("user of other") }
    let third = queue.run(barrier: true) { () async in log.append("third") }
    sources[0].succeed(with: 1)
    for future in [first, user, second, between] { try await future.value }
    #expect(log.entries == ["first", "user", "second", "between"])
    sources[1].succeed(with: 1)
    for future in [other, userOfOther, third] { try await future.value }
    #expect(log.entries.suffix(3) == ["other", "user of other", "third"])
    #expect(await queue.isEmptyEventually())
  }

  @Test("A plain operation depends on a late barrier, a plain barrier follows: no hang")
  func plainBarrierBehindDependent() async throws {
    let queue = OperationQueue.make(limit: -1)
    let (source, log, end) = (Promise<Int>(), Log<String>(), Event())
    let first = queue.run(barrier: true, after: source) { () async in log.append("first") }
    let user = BlockOperation { log.append("user") }
    user.addDependency(first)
    queue.addOperation(user)
    queue.addBarrierBlock {
      log.append("plain")
      end.signal()
    }
    source.succeed(with: 1)
    #expect(await end.opened())
    #expect(log.entries == ["first", "user", "plain"])
    #expect(await queue.isEmptyEventually())
  }

  @Test("A barrier waits for a closure that waits for one that is not in the queue yet: no hang")
  func closureNeededInFront() async throws {
    for queue in [OperationQueue.make(limit: -1), .make(limit: 1), .make(limit: 3)] {
      let (source, log) = (Promise<Int>(), Log<String>())
      let needed = source.mapToValue(on: queue) { _ in log.append("needed") }
      let user = queue.run(after: needed) { () async in log.append("user") }
      let plainUser = BlockOperation { log.append("user") }
      plainUser.addDependency(needed)
      queue.addOperation(plainUser)
      let first = queue.run(barrier: true) { log.append("first") }
      let between = queue.run { log.append("between") }
      let second = queue.run(barrier: true) { () async in log.append("second") }
      let other = source.mapToValue(on: queue) { _ in log.append("other") }
      source.succeed(with: 1)
      for future in [needed, user, first, between, second, other] { try await future.value }
      #expect(log.entries == ["needed", "user", "user", "first", "between", "second", "other"])
      #expect(await queue.isEmptyEventually())
    }
  }

  @Test("A future of the queue whose closure runs in the queue, then a barrier: both run")
  func closureOfMember() async throws {
    for count in [1, 20] {
      let (queue, source, log) = (OperationQueue.make(), Promise<Int>(), Log<String>())
      let members = (0..<count).map { _ in
        source.mapToValue(on: queue) { _ in log.append("member") }
      }
      for member in members { try queue.addFuture(member) }
      let barrier = queue.run(barrier: true) { log.append("barrier") }
      source.succeed(with: 1)
      #expect(await eventually { barrier.isFinished })
      #expect(log.entries == Array(repeating: "member", count: count) + ["barrier"])
      #expect(await queue.isEmptyEventually())
    }
  }

  @Test("A future of the queue whose closure runs there, then Foundation's barrier: both run")
  func closureOfMemberAndFoundationsBarrier() async throws {
    for (limit, count) in [(1, 1), (-1, 1), (1, 20), (-1, 20)] {
      let (queue, source, log) = (OperationQueue.make(limit: limit), Promise<Int>(), Log<String>())
      let members = (0..<count).map { _ in
        source.mapToValue(on: queue) { _ in }.mapToValue(on: queue) { log.append("member") }
      }
      for member in members { try queue.addFuture(member) }
      let end = Event()
      queue.addBarrierBlock {
        log.append("barrier")
        end.signal()
      }
      let behind = queue.run { log.append("behind") }
      source.succeed(with: 1)
      try #require(await end.opened())
      try await behind.value
      #expect(log.entries == Array(repeating: "member", count: count) + ["barrier", "behind"])
      #expect(await queue.isEmptyEventually())
    }
  }

  @Test(
    "An operation in front of Foundation's barrier needs a closure behind it: all of them run",
    arguments: [1, -1])
  func closureOfOperationAndFoundationsBarrier(_ limit: Int) async throws {
    let (queue, source) = (OperationQueue.make(limit: limit), Promise<Int>())
    let needed = source.mapToValue(on: queue) { $0 }.mapToValue(on: queue) { $0 }
    let (operation, end) = (BlockOperation {}, Event())
    operation.addDependency(needed)
    queue.addOperation(operation)
    queue.addBarrierBlock { end.signal() }
    source.succeed(with: 1)
    try #require(await end.opened())
    #expect(await queue.isEmptyEventually())
  }

  /// An operation whose list of dependencies takes something with it when it is read.
  private final class ReadOperation: Operation, @unchecked Sendable {
    // Sendable: the lock guards the closure.
    private let whenRead = TestLock<(@Sendable () -> Void)?>(nil)
    func onFirstRead(_ body: @escaping @Sendable () -> Void) { whenRead.withLock { $0 = body } }
    override var dependencies: [Operation] {
      whenRead.withLock { body in
        defer { body = nil }
        return body
      }?()
      return super.dependencies
    }
  }

  private final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    // Sendable: written before other threads read it.
    weak var object: Object?
  }

  /// An operation that calls back when it is released.
  private final class ReleasedOperation: Operation, @unchecked Sendable {
    // Sendable: nothing changes after init.
    private let whenReleased: @Sendable () -> Void
    init(_ whenReleased: @escaping @Sendable () -> Void) { self.whenReleased = whenReleased }
    deinit { whenReleased() }
  }

  @Test("The release of an operation waits for a barrier of another thread: it returns")
  func releaseBesideBarrier() async throws {
    let (queue, other) = (OperationQueue.make(limit: -1), OperationQueue.make())
    let (source, released) = (Promise<Int>(), Log<Bool>())
    let late = queue.run(barrier: true, after: source) { () async in }
    let front = ReadOperation()
    front.addDependency(late)
    // The late barrier takes a place in front of this one, and does not wait for it.
    let dependent = WeakReference<ReleasedOperation>()
    do {
      let operation = ReleasedOperation {
        let hasRun = Event()
        Thread.detachNewThread {
          other.run(barrier: true) {}.onCompletion(on: .inline) { _ in hasRun.signal() }
        }
        released.append(hasRun.wait())
      }
      operation.addDependency(late)
      queue.addOperation(operation)
      dependent.object = operation
    }
    queue.addOperation(front)
    front.onFirstRead {
      dependent.object?.cancel()
      _ = eventuallyBlocking { queue.operations.count { $0 is ReleasedOperation } == 0 }
    }
    source.succeed(with: 1)
    try await late.value
    #expect(await eventually { released.entries == [true] })
    #expect(await queue.isEmptyEventually())
  }

  @Test("What runs in the batch of a needed closure has ended before the barrier begins")
  func batchInFront() async throws {
    let queue = OperationQueue.make(limit: -1)
    let (source, log, inTail) = (Promise<Int>(), Log<String>(), Event())
    let needed = source.mapToValue(on: queue) { _ in log.append("needed") }
    let tail = needed.mapToValue(on: queue) {
      log.append("tail begins")
      inTail.signal()
      _ = eventuallyBlocking(within: .milliseconds(100)) { log.entries.contains("barrier") }
      log.append("tail ends")
    }
    let user = queue.run(after: needed) { () async in }
    let barrier = queue.run(barrier: true) { log.append("barrier") }
    source.succeed(with: 1)
    for future in [needed, tail, user, barrier] { try await future.value }
    // A batch older than a millisecond takes no further closure: the tail is behind the barrier.
    let isInBatch = log.entries == ["needed", "tail begins", "tail ends", "barrier"]
    #expect(isInBatch || log.entries == ["needed", "barrier", "tail begins", "tail ends"])
  }

  @Test("Many wait in the queue, one of them for a late barrier: the barrier waits for the others")
  func lateBarrierBehindManyMembers() async throws {
    let queue = OperationQueue.make(limit: -1)
    let (source, other, log) = (Promise<Int>(), Promise<Int>(), Log<String>())
    let fillers = (0..<20).map { _ in Promises.make(promising: Int.self, in: queue) }
    let barrier = queue.run(barrier: true, after: source) { () async in log.append("barrier") }
    let dependent = queue.run(after: barrier) { () async in log.append("dependent") }
    let inFront = queue.run(after: other) { () async in log.append("in front") }
    source.succeed(with: 1)
    other.succeed(with: 1)
    for filler in fillers { filler.succeed(with: 1) }
    for future in [barrier, dependent, inFront] { try await future.value }
    #expect(log.entries == ["in front", "barrier", "dependent"])
    #expect(await queue.isEmptyEventually())
  }

  @Test("A plain barrier in front of one of the library: they run in this order")
  func plainBarrierInFront() async throws {
    for _ in 0..<20 {
      let queue = OperationQueue.make(limit: -1)
      let (gate, log) = (Event(), Log<String>())
      queue.addOperation { _ = gate.wait() }
      queue.addBarrierBlock { log.append("plain") }
      let barrier = queue.run(barrier: true) { () async in log.append("barrier") }
      let last = queue.run { () async in log.append("last") }
      gate.signal()
      for future in [barrier, last] { try await future.value }
      #expect(log.entries == ["plain", "barrier", "last"])
    }
  }

  @Test("Barriers one behind the other, all cancelled while the first runs: later ones wait for it")
  func rowIsCancelled() async throws {
    for count in [2, 3, 40] {
      let queue = OperationQueue.make(limit: -1)
      let (begun, end, log) = (Event(), Promise<Int>(), Log<String>())
      let first = queue.run(barrier: true) { () async in
        begun.signal()
        await withCheckedContinuation { continuation in
          end.onSuccess(on: .inline) { _ in continuation.resume() }
        }
        log.append("first")
      }
      let others = (1..<count).map { _ in
        queue.run(barrier: true) { () async in log.append("other") }
      }
      #expect(await begun.opened())
      queue.cancelAllOperations()
      let last = queue.run { () async in log.append("last") }
      #expect(!(await eventually(within: .milliseconds(20)) { last.isFulfilled }))
      end.succeed(with: 1)
      try await last.value
      #expect(([first] + others).allSatisfy { $0.isCancelled })
      #expect(log.entries == ["first", "last"])
      #expect(await queue.isEmptyEventually())
    }
  }

  @Test("A lazy future is in front of a barrier, and its closure adds one: both run")
  func lazyInFront() async throws {
    let (queue, other) = (OperationQueue.make(limit: -1), OperationQueue.make(limit: -1))
    let lazy = Promises.lazy(on: .inline) { other.run(barrier: true) { () async in 7 } }
    let add = { queue.addOperations([lazy], waitUntilFinished: false) }
    add()
    #expect(try await queue.run(barrier: true) { 8 }.value == 8)
    #expect(try await lazy.value == 7)
  }

  @Test("A queue is resumed while a barrier is added: the barrier runs")
  func resumedMeanwhile() async {
    let lost = await race(rounds: 2_000) { _ in
      OperationQueue.make(isSuspended: true)
    } _: {
      thread, queue in
      if thread == 0 { queue.isSuspended = false }
      if thread == 1 { _ = queue.run(barrier: true) {} }
    } isRight: { queue in
      eventuallyBlocking { queue.operationCount == 0 } && !queue.isSuspended
    }
    #expect(lost == nil)
  }

  @Test("Another thread adds barriers of Foundation, and operations behind them: all run")
  func besideBarriersOfFoundation() async {
    let stuck = await race(rounds: 2_000) { _ in
      OperationQueue.make(limit: 2)
    } _: { thread, queue in
      for _ in 0..<3 {
        if thread == 0 {
          queue.addBarrierBlock {}
          queue.addOperation {}
        } else {
          _ = queue.run(barrier: true) {}
        }
      }
    } isRight: { queue in
      // Foundation may lose the readiness of a barrier while it adds it. It looks at all
      // operations here.
      queue.isSuspended = false
      return eventuallyBlocking { queue.operationCount == 0 }
    }
    #expect(stuck == nil)
  }

  /// What has begun and what has returned, by number.
  private struct Course {
    var running: Set<Int> = []
    var ended: Set<Int> = []
    var faults: [String] = []
  }

  @Test("Random closures on other futures, in front of and behind barriers: none hangs")
  func randomDependencies() async {
    await SeededSchedules.play("BarrierOrderTests.dependencies", count: 100) { generator in
      let queue = OperationQueue.make(limit: Int.random(in: 1...3, using: &generator))
      let (running, faults) = (Counter(), Counter())
      let work = { @Sendable in
        running.add()
        running.add(-1)
      }
      let barrier = { @Sendable in
        if running.value != 0 { faults.add() }
        work()
      }
      var (futures, sources) = ([Future<Void>](), [Promise<Void>]())
      for _ in 0..<40 {
        let other = futures.randomElement(using: &generator)
        let dependencies = other.map { [$0] } ?? []
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: futures.append(queue.run { () async in work() })
        case 1, 2: futures.append(queue.run(after: dependencies) { () async in work() })
        case 3: futures.append(queue.run(barrier: true) { barrier() })
        case 4:
          futures.append(queue.run(barrier: true, after: dependencies) { () async in barrier() })
        default:
          let source = Promises.make(promising: Void.self, in: queue)
          sources.append(source)
          futures.append(source.mapToValue(on: queue) { work() })
          // The other threads make the late barriers join while this one goes on.
          if Bool.random(using: &generator) { DispatchQueue.global().async { source.succeed() } }
        }
      }
      for source in sources.shuffled(using: &generator) { source.succeed() }
      let isDone = await eventually { futures.allSatisfy(\.isFinished) }
      if !isDone { return "\(futures.filter { !$0.isFinished }.map(\.debugTree))" }
      if faults.value > 0 { return "\(faults.value) barriers ran beside other closures" }
      return await queue.isEmptyEventually() ? nil : "the queue is not empty"
    }
  }

  private enum Kind: String, CaseIterable {
    case plain, async, after, barrier, plainBarrier, lateBarrier

    var isBarrier: Bool { self == .barrier || self == .plainBarrier || self == .lateBarrier }
  }

  @Test(
    "Random operations, barriers, dependencies: all run, barriers alone and in their order",
    arguments: [false, true])
  func random(isCancelling: Bool) async {
    await SeededSchedules.play("BarrierOrderTests", count: 300) { generator in
      let count = Int.random(in: 3...14, using: &generator)
      let limit = Int.random(in: 1...4, using: &generator)
      let queue = limit == 4 ? OperationQueue.make(limit: -1) : .make(limit: limit)
      // A cancelled barrier of Foundation may crash without this library, too.
      let all = Kind.allCases.filter { !isCancelling || $0 != .plainBarrier }
      let kinds = (0..<count).map { _ in all.randomElement(using: &generator) ?? .plain }
      let course = TestLock(Course())
      let begin = { @Sendable (number: Int) in
        course.withLock { course in
          let kind = kinds[number]
          if kind.isBarrier, !course.running.isEmpty {
            course.faults.append("\(number) begins beside \(course.running)")
          }
          if let barrier = course.running.first(where: { kinds[$0].isBarrier }) {
            course.faults.append("\(number) begins beside the barrier \(barrier)")
          }
          for other in kinds.indices where other != number && kinds[other] != .lateBarrier {
            let isOrdered = kind != .lateBarrier && (kind.isBarrier || kinds[other].isBarrier)
            let isEarlier = other < number
            if !isCancelling, isOrdered, isEarlier != course.ended.contains(other) {
              let fault = isEarlier ? "has not run" : "has"
              course.faults.append("\(number) begins, \(other) \(fault)")
            }
          }
          course.running.insert(number)
        }
      }
      let end = { @Sendable (number: Int) in
        course.withLock { course in
          course.running.remove(number)
          course.ended.insert(number)
        }
      }
      let sources = (0..<2).map { _ in Promise<Int>() }
      var futures: [Future<Void>] = []
      for (number, kind) in kinds.enumerated() {
        let body: @Sendable () async -> Void = {
          begin(number)
          await Task.yield()
          end(number)
        }
        let work = { @Sendable in
          begin(number)
          end(number)
        }
        let dependency: Operation =
          Bool.random(using: &generator)
          ? sources[number % 2] : futures.randomElement(using: &generator) ?? sources[0]
        switch kind {
        case .plain: queue.addOperation(work)
        case .async: futures.append(queue.run { () async in await body() })
        case .after: futures.append(queue.run(after: dependency) { () async in await body() })
        case .barrier: futures.append(queue.run(barrier: true) { () async in await body() })
        case .plainBarrier: queue.addBarrierBlock(work)
        case .lateBarrier:
          futures.append(queue.run(barrier: true, after: dependency) { () async in await body() })
        }
      }
      // Foundation may lose the readiness of a barrier while it adds it. It looks at all
      // operations here.
      for _ in 0..<2 { queue.isSuspended = false }
      for source in sources.shuffled(using: &generator) { source.succeed(with: 1) }
      if isCancelling {
        futures.randomElement(using: &generator)?.cancel()
        let isCancellingAll = Bool.random(using: &generator)
        if isCancellingAll { queue.cancelAllOperations() }
        let isDone = await queue.isEmptyEventually()
        // Foundation opens barriers before it cancels the operations behind them.
        let fault = isCancellingAll ? nil : course.withLock { $0.faults.first }
        if isDone, fault == nil { return nil }
        return "\(fault ?? "hangs"): \(kinds.map(\.rawValue))"
      }
      let isDone = await eventually { course.withLock { $0.ended.count } == count }
      let (ended, faults) = course.withLock { ($0.ended, $0.faults) }
      guard isDone else {
        return "hangs: \(kinds.map(\.rawValue)), ended \(ended.sorted())"
      }
      if let fault = faults.first { return "\(fault): \(kinds.map(\.rawValue))" }
      return await queue.isEmptyEventually() ? nil : "the queue is not empty"
    }
  }

  @Test("Futures come beside a barrier, 300 rounds: what waits for the barrier is behind it")
  func futuresBesideBarrier() async {
    struct Subject: Sendable {
      let queue: OperationQueue
      let promises: [Promise<Void>]
      let behind = Box<Future<Void>?>(nil)
    }
    let wrong = await race(rounds: 300, threads: 2) { _ in
      Subject(queue: OperationQueue.make(), promises: (0..<40).map { _ in Promise<Void>() })
    } _: { thread, subject in
      if thread == 0 {
        for promise in subject.promises { try? subject.queue.addFuture(promise) }
      } else {
        let barrier: Future<Void> = subject.queue.run(barrier: true) {}
        subject.behind.value = subject.queue.run(after: barrier) { @concurrent () async in }
      }
    } isRight: { subject in
      for promise in subject.promises { promise.succeed() }
      return eventuallyBlocking { subject.behind.value?.isFinished == true }
    }
    #expect(wrong == nil)
  }
}
