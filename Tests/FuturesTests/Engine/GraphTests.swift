import Foundation
import TestSupport
import Testing

@testable import Futures

/// The search for cycles in the graph of futures that wait for each other.
@Suite("The graph of waiting", .timeLimit(.minutes(5)), .oneAtATime)
struct GraphTests {
  private func chain(from future: Future<Int>, _ length: Int) -> [Future<Int>] {
    var all = [future]
    for _ in 0..<length { all.append(all[all.count - 1].mapToValue(on: .inline) { $0 }) }
    return all
  }

  @Test func `a future that waits for itself closes a cycle`() {
    let promise = Promise<Int>()
    #expect(Graph.closesCycle(promise, waitingFor: promise))
  }

  @Test(arguments: [1, 2, 31, 32, 33, 100, 1000])
  func `a promise that would wait for the end of its own chain closes a cycle`(_ length: Int) {
    let promise = Promise<Int>()
    let links = chain(from: promise, length)
    #expect(Graph.closesCycle(promise, waitingFor: links[length]))
    // The other way is the chain itself.
    #expect(!Graph.closesCycle(links[length], waitingFor: promise))
    promise.cancel()
  }

  @Test func `two chains that know nothing of each other close no cycle`() {
    let (one, other) = (Promise<Int>(), Promise<Int>())
    let (links, others) = (chain(from: one, 100), chain(from: other, 100))
    for (a, b) in [(0, 100), (100, 0), (50, 50), (0, 0), (100, 100)] {
      #expect(!Graph.closesCycle(links[a], waitingFor: others[b]))
    }
    one.cancel()
    other.cancel()
  }

  @Test func `a cycle through a join, an inner future and a dependency is found`() {
    let (promise, unrelated) = (Promise<Int>(), Promise<Int>())
    let joined = Promises.collect([promise.mapToValue(on: .inline) { $0 }, unrelated])
    let inner = Promises.makeSucceeded(with: 0).mapToFuture(on: .inline) { _ in
      joined.mapToValue(on: .inline) { $0.count }
    }
    let dependent = Promises.makeSucceeded(with: 0).mapToValue(on: ManualContext()) { $0 }
    dependent.addDependency(inner)
    #expect(Graph.closesCycle(promise, waitingFor: dependent))
    #expect(Graph.closesCycle(unrelated, waitingFor: inner))
    #expect(!Graph.closesCycle(dependent, waitingFor: promise))
    promise.cancel()
    unrelated.cancel()
    dependent.cancel()
  }

  @Test func `what has settled leads no further`() {
    let promise = Promise<Int>()
    let links = chain(from: promise, 3)
    links[1].cancel()
    #expect(!Graph.closesCycle(promise, waitingFor: links[3]))
    promise.cancel()
  }

  @Test func `what has settled closes no cycle, although somebody still waits for it to go on`() {
    let (promise, settled) = (Promise<Int>(), Promises.makeSucceeded(with: 1))
    promise.attach(.callback(CountingWaiter(Looks(), settled)), isConsumer: false)
    #expect(!Graph.closesCycle(promise, waitingFor: settled))
    promise.cancel()
  }

  @Test func `a future needs what it depends on, and what that needs`() {
    let (promise, operation) = (Promise<Int>(), Operation())
    let links = chain(from: promise, 3)
    let dependent = Promises.makeSucceeded(with: 0).mapToValue(on: ManualContext()) { $0 }
    dependent.addDependency(links[3])
    dependent.addDependency(operation)
    #expect(Graph.needs(dependent, oneOf: [ObjectIdentifier(promise)]))
    dependent.removeDependency(links[3])
    #expect(!Graph.needs(dependent, oneOf: [ObjectIdentifier(promise)]))
    promise.cancel()
    dependent.cancel()
  }

  @Test func `a future needs itself, what is upstream, and nothing else`() {
    let (promise, other) = (Promise<Int>(), Promise<Int>())
    let links = chain(from: promise, 40)
    #expect(Graph.needs(links[40], oneOf: [ObjectIdentifier(links[40])]))
    #expect(Graph.needs(links[40], oneOf: [ObjectIdentifier(other), ObjectIdentifier(promise)]))
    #expect(!Graph.needs(links[40], oneOf: [ObjectIdentifier(other)]))
    #expect(!Graph.needs(promise, oneOf: [ObjectIdentifier(links[40])]))
    #expect(!Graph.needs(promise, oneOf: []))
    promise.cancel()
    #expect(!Graph.needs(links[40], oneOf: [ObjectIdentifier(links[40])]))
  }

  // MARK: The cost

  /// How often the search has looked.
  private final class Looks: Sendable {
    private let number = TestLock(0)
    var count: Int { number.withLock { $0 } }
    func note() { number.withLock { $0 += 1 } }
  }

  /// Counts how often the search looks at it.
  private final class CountingWaiter: CallbackWaiter, @unchecked Sendable {
    // Sendable: nothing changes.
    private let looks: Looks
    private let future: AnyFuture?

    init(_ looks: Looks, _ future: AnyFuture? = nil) {
      self.looks = looks
      self.future = future
    }

    override var downstreams: [AnyFuture] {
      looks.note()
      return future.map { [$0] } ?? []
    }
  }

  private func looks(
    below promise: Promise<Int>, _ waiters: Int, at future: AnyFuture?, waitingFor other: AnyFuture
  ) -> Int {
    let looks = Looks()
    for _ in 0..<waiters {
      promise.attach(.callback(CountingWaiter(looks, future)), isConsumer: false)
    }
    #expect(!Graph.closesCycle(promise, waitingFor: other))
    return looks.count
  }

  @Test func `10,000 futures that wait cost little if nothing is upstream of the other one`() {
    let (promise, other, below) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let count = looks(below: promise, 10_000, at: below, waitingFor: other)
    #expect(count <= 200)
    promise.cancel()
  }

  @Test
  func `10,000 waiters that are no futures cost little if nothing is upstream of the other one`() {
    let (promise, other) = (Promise<Int>(), Promise<Int>())
    let count = looks(below: promise, 10_000, at: nil, waitingFor: other)
    #expect(count <= 200)
    promise.cancel()
  }

  /// An upstream of many futures that counts how often they are read.
  private final class WideSource: CallbackWaiter, @unchecked Sendable {
    // Sendable: nothing changes.
    private let (looks, inputs): (Looks, [AnyFuture])

    init(_ looks: Looks, _ inputs: [AnyFuture]) { (self.looks, self.inputs) = (looks, inputs) }

    override var upstreams: [AnyFuture] {
      looks.note()
      return inputs
    }
    override var upstreamCount: Int { inputs.count }
  }

  @Test func `a closure waits for a future of 10,000 inputs: they are not read`() {
    let (looks, other, running) = (Looks(), Promise<Int>(), Promise<Int>())
    let source = WideSource(looks, (0..<10_000).map { _ in Promise<Int>() })
    #expect(other.storage.beginWaiting(for: .source(source)) == true)
    let holder = BlockedHolder(running: [running])
    holder.willBlock(on: other)
    #expect(!holder.needsItself(for: other))
    #expect(looks.count == 0)
    holder.hasBlocked()
    other.cancel()
  }

  /// Counts how often a search asks for what it waits.
  private final class CountingHolder: BlockedHolder, @unchecked Sendable {
    // Sendable: nothing changes.
    private let looks: Looks

    init(_ looks: Looks) {
      self.looks = looks
      super.init(running: [])
    }

    override var upstreams: [AnyFuture] {
      looks.note()
      return super.upstreams
    }
  }

  /// Closures that wait in all slots of a queue: one for a promise, the others for a slot.
  ///
  /// - Parameter place: Which of them waits for the promise; `nil` if none does.
  private func holders(
    _ count: Int, ofWhich place: Int?, waitFor promise: Promise<Int>, else needing: Future<Int>,
    in queue: OperationQueue, _ looks: Looks
  ) -> [(holder: BlockedHolder, queues: BlockedQueues)] {
    (0..<count).map { number in
      let holder = CountingHolder(looks)
      let queues = BlockedQueues(of: holder, in: queue)
      holder.willBlock(on: number == place ? promise : needing)
      queues.willBlock()
      return (holder, queues)
    }
  }

  private func withFullQueue(
    of count: Int, promiseAt place: Int?,
    _ body: (_ needing: Future<Int>, [BlockedQueues], Looks) -> Void
  ) {
    let (queue, promise, looks) = (OperationQueue(), Promise<Int>(), Looks())
    queue.maxConcurrentOperationCount = count
    queue.isSuspended = true
    let needing = Promises.run(on: queue) { 1 }
    let all = holders(count, ofWhich: place, waitFor: promise, else: needing, in: queue, looks)
    body(needing, all.map(\.queues), looks)
    for (holder, queues) in all {
      queues.hasBlocked()
      holder.hasBlocked()
    }
    #expect(!BlockedQueues.areAllSlotsBlocked(of: queue))
    needing.cancel()
    promise.cancel()
    queue.isSuspended = false
  }

  @Test func `closures wait in 1,000 slots, the first for a promise: the others are not read`() {
    withFullQueue(of: 1_000, promiseAt: 0) { needing, all, looks in
      let before = looks.count
      for queues in all[1...] { #expect(queues.need(of: needing, toFinish: false) == nil) }
      #expect(looks.count - before <= 2_000)
    }
  }

  @Test(arguments: [0, 1, 7, 8, 9, 23, 24, 98, 99])
  func `a closure in one of 100 slots that waits for a promise is a way out for the others`(
    _ place: Int
  ) {
    withFullQueue(of: 100, promiseAt: place) { needing, all, _ in
      let others = all[..<place] + all[(place + 1)...]
      for queues in others { #expect(queues.need(of: needing, toFinish: false) == nil) }
      // The closures in front of it go, and come again: the order has gaps.
      for queues in all[..<place].reversed() { queues.hasBlocked() }
      for queues in all[..<place] { queues.willBlock() }
      for queues in others { #expect(queues.need(of: needing, toFinish: false) == nil) }
    }
  }

  @Test(arguments: [1, 2, 8, 9, 100])
  func `closures in all slots that wait for another slot have no way out, until one goes`(
    _ count: Int
  ) {
    withFullQueue(of: count, promiseAt: nil) { needing, all, _ in
      for queues in all { #expect(queues.need(of: needing, toFinish: false) != nil) }
      all[count / 2].hasBlocked()
      for queues in all { #expect(queues.need(of: needing, toFinish: false) == nil) }
    }
  }

  @Test func `the last of 10,000 that wait closes a cycle, which is found from above`() {
    let (promise, below) = (Promise<Int>(), Promise<Int>())
    let looks = Looks()
    for _ in 0..<10_000 {
      promise.attach(.callback(CountingWaiter(looks, below)), isConsumer: false)
    }
    let last = chain(from: promise, 3)[3]
    #expect(Graph.closesCycle(promise, waitingFor: last))
    #expect(looks.count <= 200)
    promise.cancel()
  }

  @Test func `a list of waiters that is read again and again costs twice its length`() {
    let (promise, other, below) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let links = chain(from: other, 5_000)
    let count = looks(below: promise, 1_000, at: below, waitingFor: links[5_000])
    #expect(count >= 1_000)
    #expect(count <= 4_000)
    promise.cancel()
    other.cancel()
  }

  /// Counts how often the search asks what is upstream of it.
  private final class CountingSource: CallbackWaiter, @unchecked Sendable {
    // Sendable: nothing changes.
    private let looks: Looks
    private let future: AnyFuture

    init(_ looks: Looks, _ future: AnyFuture) {
      self.looks = looks
      self.future = future
    }

    override var upstreams: [AnyFuture] {
      looks.note()
      return [future]
    }
  }

  /// Promises in a row, each of which counts when the search asks what is upstream of it.
  private func row(_ length: Int, _ looks: Looks) -> [Promise<Int>] {
    var all = [Promise<Int>()]
    for _ in 1..<length {
      let next = Promise<Int>()
      _ = next.storage.wait(for: .source(CountingSource(looks, all[all.count - 1])))
      all.append(next)
    }
    return all
  }

  /// Releases a row from its end: it is long.
  private func release(_ row: consuming [Promise<Int>]) {
    while let last = row.popLast() { _ = last.storage.wait(for: .none) }
  }

  @Test(arguments: [true, false])
  func `linked promises below a row of 500, released one by one, cost little each`(
    _ isFromFront: Bool
  ) {
    let looks = Looks()
    let upstream = row(500, looks)
    var linked: [Promise<Int>?] = upstream.suffix(1)
    for number in 1...500 {
      let next = Promise<Int>()
      if let last = linked[number - 1] { next.fulfill(from: last) }
      linked.append(next)
    }
    let before = looks.count
    for number in isFromFront ? Array(1..<500) : (1..<500).reversed() { linked[number] = nil }
    #expect(looks.count - before < 500 * 8)
    upstream[499].succeed(with: 1)
    #expect(linked[500]?.result?.successValue == 1)
    release(upstream)
  }

  @Test func `a dependency on a promise that has gone is one on what it was linked to`() {
    let (source, gate) = (Promise<Int>(), Promise<Int>())
    let dependent = gate.mapToValue(on: .inline) { $0 }
    var linked: Promise<Int>? = Promise<Int>()
    if let linked {
      linked.fulfill(from: source)
      dependent.addDependency(linked)
    }
    linked = nil
    #expect(dependent.futuresWaitedFor.contains { $0 === source })
    #expect(Graph.closesCycle(source, waitingFor: dependent))
    source.succeed(with: 1)
    gate.succeed(with: 2)
    #expect(dependent.result?.successValue == 2)
  }

  @Test func `a chain of 10,000 upstream costs nothing for a future that nobody waits for`() {
    let looks = Looks()
    var last: Future<Int> = Promise<Int>()
    for _ in 0..<10_000 {
      let next = Promise<Int>()
      _ = next.storage.wait(for: .source(CountingSource(looks, last)))
      last = next
    }
    #expect(!Graph.closesCycle(Promise<Int>(), waitingFor: last))
    #expect(looks.count <= 2)
    // From the other end, which has a few waiters, the cost follows those few.
    let few = Promise<Int>()
    let links = chain(from: few, 10)
    #expect(!Graph.closesCycle(few, waitingFor: last))
    #expect(looks.count <= 100)
    // Released one by one: the chain is long.
    while case .source(let source) = last.storage.upstream,
      let next = source.upstreams.first as? Future<Int>
    {
      _ = last.storage.wait(for: .none)
      last = next
    }
    withExtendedLifetime(links) {}
    few.cancel()
  }
}
