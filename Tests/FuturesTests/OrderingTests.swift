import Dispatch
import Foundation
import Futures
import TestSupport
import Testing

@Suite("Ordering", .timeLimit(.minutes(5)), .oneAtATime)
struct OrderingTests {
  /// Contexts that start one closure at a time, in the order they are asked.
  private static func serialQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return queue
  }

  @Test(.guarantee(2)) func `1,000 handlers on one operation queue run in the order of attachment`()
    async
  {
    let queue = Self.serialQueue()
    let promise = Promise<Int>()
    let log = Log<Int>()
    let done = Event()
    for index in 0..<1_000 {
      promise.onSuccess(on: queue) { _ in
        log.append(index)
        if index == 999 { done.signal() }
      }
    }
    promise.succeed(with: 1)
    #expect(await done.opened())
    #expect(disorder(in: log, of: 1_000) == nil)
  }

  @Test func `1,000 handlers on one dispatch queue run in the order of attachment`() async {
    let queue = DispatchQueue(label: "ordering")
    let promise = Promise<Int>()
    let log = Log<Int>()
    let done = Event()
    for index in 0..<1_000 {
      promise.onSuccess(on: queue) { _ in
        log.append(index)
        if index == 999 { done.signal() }
      }
    }
    promise.succeed(with: 1)
    #expect(await done.opened())
    #expect(disorder(in: log, of: 1_000) == nil)
  }

  @Test func `1,000 inline handlers run in the order of attachment`() {
    let promise = Promise<Int>()
    let log = Log<Int>()
    for index in 0..<1_000 { promise.onSuccess(on: .inline) { _ in log.append(index) } }
    promise.succeed(with: 1)
    #expect(disorder(in: log, of: 1_000) == nil)
  }

  @Test func `1,000 handlers in one manual context run in the order of attachment`() {
    let context = ManualContext()
    let promise = Promise<Int>()
    let log = Log<Int>()
    for index in 0..<1_000 { promise.onSuccess(on: context) { _ in log.append(index) } }
    promise.succeed(with: 1)
    context.runAll()
    #expect(disorder(in: log, of: 1_000) == nil)
  }

  @Test func `observers and mappings on one context run in the order of attachment`() {
    let context = ManualContext()
    let promise = Promise<Int>()
    let log = Log<String>()
    promise.onSuccess(on: context) { _ in log.append("1 onSuccess") }
    _ = promise.mapToValue(on: context) { _ in log.append("2 mapToValue") }
    promise.onCompletion(on: context) { _ in log.append("3 onCompletion") }
    promise.always(on: context) { log.append("4 always") }
    promise.onSuccess(on: context) { _ in log.append("5 onSuccess") }
    promise.succeed(with: 1)
    context.runAll()
    #expect(
      log.entries == ["1 onSuccess", "2 mapToValue", "3 onCompletion", "4 always", "5 onSuccess"])
  }

  @Test func `observers and mappings inline run in the order of attachment`() {
    let promise = Promise<Int>()
    let log = Log<Int>()
    promise.onSuccess(on: .inline) { _ in log.append(1) }
    _ = promise.mapToValue(on: .inline) { _ in log.append(2) }
    promise.onCompletion(on: .inline) { _ in log.append(3) }
    promise.always(on: .inline) { log.append(4) }
    promise.succeed(with: 1)
    #expect(log.entries == [1, 2, 3, 4])
  }

  @Test func `handlers of a future whose closure outlasts its turn run in order`() async {
    let queue = Self.serialQueue()
    let log = Log<Int>()
    let done = Event()
    let attached = Event()
    let slow = Promises.run(on: queue) {
      attached.wait()
      // Longer than a turn may start new closures.
      usleep(3_000)
    }
    for index in 0..<10 {
      _ = slow.mapToValue(on: queue) { _ in
        log.append(index)
        if index == 9 { done.signal() }
      }
    }
    attached.signal()
    #expect(await done.opened())
    #expect(await eventually { log.count == 10 })
    #expect(log.entries == Array(0..<10))
  }

  @Test func `handlers of a future whose queue is suspended in mid-turn run in order`() async {
    let queue = Self.serialQueue()
    let log = Log<Int>()
    let attached = Event()
    let first = Promises.run(on: queue) {
      attached.wait()
      queue.isSuspended = true
    }
    for index in 0..<10 { _ = first.mapToValue(on: queue) { _ in log.append(index) } }
    attached.signal()
    _ = await first.completion
    #expect(log.count == 0)
    queue.isSuspended = false
    #expect(await eventually { log.count == 10 })
    #expect(log.entries == Array(0..<10))
  }

  @Test func `a handler attached from inside a handler runs after those attached before`() {
    let promise = Promise<Int>()
    let log = Log<Int>()
    promise.onSuccess(on: .inline) { _ in
      log.append(1)
      promise.onSuccess(on: .inline) { _ in log.append(3) }
    }
    promise.onSuccess(on: .inline) { _ in log.append(2) }
    promise.succeed(with: 1)
    #expect(log.entries == [1, 2, 3])
  }

  @Test(.guarantee(2)) func `handlers attached to a settled future run in the order of attachment`()
  {
    let context = ManualContext()
    let future = Promises.makeSucceeded(with: 1)
    let log = Log<Int>()
    for index in 0..<100 {
      if index.isMultiple(of: 2) {
        future.onSuccess(on: context) { _ in log.append(index) }
      } else {
        _ = future.mapToValue(on: context) { _ in log.append(index) }
      }
    }
    context.runAll()
    #expect(disorder(in: log, of: 100) == nil)
  }

  @Test(.guarantee(3)) func `a late handler never runs inside the attaching call`() async {
    let future = Promises.makeSucceeded(with: 1)
    let queue = DispatchQueue(label: "late")
    let isAttached = Box(false)
    let wasAttached = Box<Bool?>(nil)
    let done = Event()
    // On the very context that the handler wants.
    queue.async {
      future.onSuccess(on: queue) { _ in
        wasAttached.value = isAttached.value
        done.signal()
      }
      isAttached.value = true
    }
    #expect(await done.opened())
    #expect(wasAttached.value == true)
  }

  @Test(.guarantee(3))
  func `a late handler attached in a turn of its context waits for its own turn`() async {
    let context = ManualContext()
    let future = Promises.makeSucceeded(with: 1)
    let log = Log<String>()
    _ = Promises.run(on: context) {
      future.onSuccess(on: context) { _ in log.append("handler") }
      log.append("attached")
    }
    context.runAll()
    #expect(log.entries == ["attached", "handler"])
  }

  @Test func `a late inline handler has run when the attaching call returns`() {
    let log = Log<Int>()
    Promises.makeSucceeded(with: 1).onSuccess(on: .inline) { log.append($0) }
    #expect(log.entries == [1])
  }

  @Test(.guarantee(2)) func `handlers attached while another thread delivers keep their order`()
    async
  {
    for _ in 0..<50 {
      let queue = DispatchQueue(label: "race")
      let promise = Promise<Int>()
      let log = Log<Int>()
      let done = Event()
      let half = Event()
      DispatchQueue.global().async {
        half.wait()
        promise.succeed(with: 1)
      }
      for index in 0..<200 {
        if index == 100 { half.signal() }
        promise.onSuccess(on: queue) { _ in
          log.append(index)
          if log.count == 200 { done.signal() }
        }
      }
      #expect(await done.opened())
      #expect(disorder(in: log, of: 200) == nil)
    }
  }

  @Test func `a chain of links on one object context takes one turn, not one each`() {
    // A turn ends after a millisecond too: a chain that is far shorter, in debug builds and
    // with sanitizers as well, and the best of several, for a machine that is busy.
    let length = 5
    let counts = (0..<20).map { _ in
      let context = ManualContext()
      let promise = Promise<Int>()
      var last: Future<Int> = promise
      for _ in 0..<length { last = last.mapToValue(on: context) { $0 + 1 } }
      promise.succeed(with: 0)
      context.runAll()
      #expect(last.result?.successValue == length)
      return context.executeCount
    }
    #expect(counts.min() == 1)
  }

  @Test func `a chain of 1,000 links on one object context leaves room for others now and then`() {
    let context = ManualContext()
    let promise = Promise<Int>()
    var last: Future<Int> = promise
    for _ in 0..<1_000 { last = last.mapToValue(on: context) { $0 + 1 } }
    promise.succeed(with: 0)
    context.runAll()
    #expect(last.result?.successValue == 1_000)
    // About a hundred links a turn; fewer if the machine is slow.
    #expect(context.executeCount >= 1_000 / 128)
  }

  /// Blocks the thread in a closure of the library, which gives away what waits meanwhile.
  private static func waitForInline() {
    let promise = Promise<Int>()
    // Runs when the thread is about to block.
    _ = Promises.run(on: .inline) { promise.succeed(with: 1) }
    _ = try? promise.wait()
  }

  @Test
  func `an inline handler waits, another thread has added a handler: the earlier one runs first`()
    async
  {
    let queue = Self.serialQueue()
    let promise = Promise<Int>()
    let log = Log<Int>()
    let (isRunning, isAdded, done) = (Event(), Event(), Event())
    let future = promise.mapToValue(on: queue) { $0 }
    future.onSuccess(on: queue) { _ in log.append(1) }
    future.onSuccess(on: .inline) { _ in
      isRunning.signal()
      isAdded.wait()
      Self.waitForInline()
    }
    promise.succeed(with: 1)
    #expect(await isRunning.opened())
    future.onSuccess(on: queue) { _ in
      log.append(2)
      done.signal()
    }
    isAdded.signal()
    #expect(await done.opened())
    #expect(log.entries == [1, 2])
  }

  @Test
  func `a handler between two on a serial queue waits in a context of its own: they keep order`()
    async
  {
    struct AtOnce: ExecutionContext {
      func execute(_ operation: Operation) { operation.start() }
    }
    let queue = Self.serialQueue()
    let promise = Promise<Int>()
    let log = Log<Int>()
    let done = Event()
    let future = promise.mapToValue(on: queue) { $0 }
    future.onSuccess(on: queue) { _ in log.append(1) }
    future.onSuccess(on: AtOnce()) { _ in
      // What it settles takes effect before the call returns: the third handler is told.
      _ = Promises.makeSucceeded(with: 1).mapToValue(on: .global()) { $0 }
      Self.waitForInline()
    }
    future.onSuccess(on: queue) { _ in
      log.append(2)
      done.signal()
    }
    promise.succeed(with: 1)
    #expect(await done.opened())
    #expect(log.entries == [1, 2])
  }

  @Test
  func `a serial queue gets a second slot while a closure waits for what follows: no deadlock`()
    async
  {
    let queue = Self.serialQueue()
    let (start, promise) = (Promise<Int>(), Promise<Int>())
    let (waits, done) = (Event(), Event())
    let first = start.mapToValue(on: queue) { $0 }
    // Takes the place after the closure of `first`.
    let next = first.mapToValue(on: queue) { $0 + 1 }
    first.onSuccess(on: .inline) { _ in
      waits.signal()
      // While the promise is pending, the wait may end in another way.
      let value = try? promise.mapToFuture(on: .inline) { _ in next }.wait(timeout: Event.patience)
      if value == 2 { done.signal() }
    }
    Thread { start.succeed(with: 1) }.start()
    #expect(await waits.opened())
    queue.maxConcurrentOperationCount = 2
    promise.succeed(with: 1)
    #expect(await done.opened())
  }

  @Test func `what an inline handler settles comes after the handlers beside it`() {
    let (promise, other) = (Promise<Int>(), Promise<Int>())
    let log = Log<Int>()
    other.onSuccess(on: .inline) { _ in log.append(4) }
    promise.onSuccess(on: .inline) { _ in
      log.append(1)
      other.succeed(with: 1)
    }
    for index in 2...3 { promise.onSuccess(on: .inline) { _ in log.append(index) } }
    promise.succeed(with: 1)
    #expect(log.entries == [1, 2, 3, 4])
  }

  @Test func `a chain of links on a value context takes one hop each`() {
    struct Forwarding: ExecutionContext {
      let context: ManualContext
      func execute(_ operation: Operation) { context.execute(operation) }
    }
    let manual = ManualContext()
    let promise = Promise<Int>()
    var last: Future<Int> = promise
    for _ in 0..<100 { last = last.mapToValue(on: Forwarding(context: manual)) { $0 + 1 } }
    promise.succeed(with: 0)
    manual.runAll()
    #expect(last.result?.successValue == 100)
    #expect(manual.executeCount == 100)
  }
}

/// The first place where a log is not 0, 1, 2, ..., if there is one.
private func disorder(in log: Log<Int>, of count: Int) -> String? {
  let entries = log.entries
  if entries.count != count { return "\(entries.count) of \(count)" }
  return entries.enumerated().first { $0.offset != $0.element }
    .map { "\($0.element) at \($0.offset)" }
}
