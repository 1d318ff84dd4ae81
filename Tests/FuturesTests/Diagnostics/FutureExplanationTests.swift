import Foundation
import Futures
import TestSupport
import Testing

@Suite("Explanations", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureExplanationTests {
  typealias Kind = FutureExplanation.Reason.Kind

  private func rootKinds(of future: AnyFuture) -> [[Kind]] {
    let explanation = future.explain()
    return explanation.roots.map { explanation.steps[$0].reasons.map(\.kind) }
  }

  @Test @MainActor func `async work on the main actor names the main queue`() async throws {
    let future = Promises.async { @MainActor in 1 }
    #expect(future.explain().steps[0].reasons.map(\.kind) == [.mainQueue])
    #expect(try await future.value == 1)
  }

  @Test("A chain leads to the promise that no producer has settled, and names its place")
  func promise() throws {
    let promise = Promise<Int>(name: "answer")
    let line = #line - 1
    let last = promise.mapToValue(on: .global()) { $0 + 1 }.mapToVoid()
    let explanation = last.explain()
    #expect(explanation.steps.map(\.waitsFor) == [[1], [2], []])
    #expect(explanation.roots == [2])
    #expect(explanation.steps[2].createdAt.line == line)
    #expect(explanation.steps[2].reasons.map(\.kind) == [.promise])
    #expect(
      explanation.description
        == """
        \(last.createdAt)
        \(explanation.steps[1].createdAt)
        "answer", \(promise.createdAt)
          → No producer has settled this promise.
        """)
    #expect(last.debugTree == explanation.description)
    promise.succeed(with: 1)
  }

  @Test("A settled future says so")
  func settled() {
    let future = Promises.makeSucceeded(with: 1)
    #expect(rootKinds(of: future) == [[.settled]])
    #expect(future.debugTree.contains("It has succeeded."))
    let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
    #expect(failed.debugTree.contains("It has failed."))
    let cancelled = Promise<Int>()
    cancelled.cancel()
    #expect(cancelled.debugTree.contains("It has been cancelled."))
  }

  @Test("A closure that waits for a suspended queue names the queue")
  func suspended() async throws {
    let queue = OperationQueue()
    queue.name = "disk \"1\"\n"
    queue.maxConcurrentOperationCount = 2
    queue.isSuspended = true
    let link = Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }.mapToVoid()
    let explanation = link.explain()
    let root = try #require(explanation.roots.first)
    let reason = try #require(explanation.steps[root].reasons.first)
    #expect(reason.kind == .queue)
    #expect(reason.queue?.isSuspended == true)
    #expect(reason.queue?.slotCount == 2)
    #expect(reason.queue?.waitingCount == 1)
    #expect(reason.description.contains("which is suspended: 0 of 2 executing, 1 waiting."))
    queue.isSuspended = false
    try await link.value
  }

  @Test("A closure that waits for a slot names the closures that hold the slots, and their waits")
  func slots() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let (isHeld, gate) = (Event(), Promise<Int>())
    let holder = Promises.run(on: queue) { () -> Int in
      isHeld.signal()
      return try gate.wait()
    }
    #expect(await isHeld.opened())
    let second = Promises.run(on: queue) { 2 }
    #expect(rootKinds(of: second) == [[.queue]])
    let text = second.debugTree
    #expect(text.contains("1 of 1 executing, 1 waiting."))
    #expect(text.contains("A slot is held by the closure of \(holder.createdAt)"))
    #expect(await eventually { second.debugTree.contains("waits for \(gate.createdAt)") })
    // The holder itself waits for the promise, in its closure.
    let explanation = holder.explain()
    #expect(explanation.steps.first?.reasons.map(\.kind) == [.runningClosure])
    #expect(explanation.steps.last?.createdAt == gate.createdAt)
    gate.succeed(with: 1)
    #expect(try await holder.value + second.value == 3)
  }

  @Test("A dispatch queue, a lazy future, timers and operations are named")
  func others() async throws {
    let queue = DispatchQueue(label: "held")
    let gate = Event()
    queue.async { gate.wait() }
    let link = Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }
    #expect(rootKinds(of: link) == [[.context]])
    #expect(link.debugTree.contains("the dispatch queue \"held\""))
    gate.signal()

    let lazy = Promises.lazy(on: .inline) { Promises.makeSucceeded(with: 1) }
    #expect(rootKinds(of: lazy) == [[.notStarted]])

    let delay = Promises.delay(for: .seconds(3600))
    #expect(rootKinds(of: delay) == [[.timer]])
    let promise = Promise<Int>()
    let limited = promise.timeout(after: .seconds(3600))
    let explanation = limited.explain()
    #expect(explanation.steps.map { $0.reasons.map(\.kind) } == [[.timer], [.promise]])
    delay.cancel()
    limited.cancel()

    let operation = BlockOperation()
    operation.name = "tidy up"
    let source = Promise<Int>()
    let dependent = source.mapToValue(on: .inline) { $0 }
    dependent.addDependency(operation)
    source.succeed(with: 1)
    #expect(rootKinds(of: dependent) == [[.operation]])
    #expect(dependent.debugTree.contains("the operation \"tidy up\" (BlockOperation, ready)"))
    operation.start()
    #expect(try await dependent.value == 1)
    #expect(try await link.value == 1)
  }

  @Test("A future of a resolver, and one that wraps a callback, wait for their producer")
  func resolvers() {
    let (future, resolver) = Promises.makeResolver(promising: Int.self)
    #expect(rootKinds(of: future) == [[.promise]])
    let callbacks = Log<@Sendable (Int) -> Void>()
    let wrapped: Future<Int> = Promises.wrap { callbacks.append($0) }
    #expect(rootKinds(of: wrapped) == [[.promise]])
    for callback in callbacks.takeAll() { callback(1) }
    resolver.succeed(with: 1)
  }

  @Test("The label of a dispatch queue is one line of at most 80 characters in an explanation")
  func label() {
    let labels = ["plain", "a\n  forged" + String(repeating: "x", count: 10_000)]
    let trees = labels.map { label in
      let (queue, gate) = (DispatchQueue(label: label), Event())
      queue.async { gate.wait() }
      defer { gate.signal() }
      return Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }.debugTree
    }
    #expect(trees[1].split(separator: "\n").count == trees[0].split(separator: "\n").count)
    #expect(trees[1].count < trees[0].count + 100)
  }

  @Test("A dependency on a future is an edge, and so is an inner future")
  func edges() {
    let (promise, dependency, inner) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let link = promise.mapToValue(on: .inline) { $0 }
    link.addDependency(dependency)
    #expect(link.explain().roots.count == 2)
    let flat = Promises.makeSucceeded(with: 1).mapToFuture(on: .inline) { _ in inner }
    let explanation = flat.explain()
    #expect(explanation.steps.last?.createdAt == inner.createdAt)
    promise.cancel()
    dependency.cancel()
    inner.cancel()
  }

  @Test("Of a thousand inputs, eight are shown")
  func wide() {
    let promises = (0..<1_000).map { _ in Promise<Int>() }
    let all = Promises.collect(promises).explain()
    #expect(all.steps.count == 9)
    #expect(all.steps[0].moreCount == 992)
    #expect(all.roots.count == 8)
    #expect(all.description.contains("… and 992 more futures"))
    let one = Promises.race([promises[0], promises[1]]).explain()
    #expect(one.steps[0].needsOnlyOne)
    #expect(one.description.contains("waits for one of:"))
    for promise in promises { promise.cancel() }
  }

  @Test("Only of a future that needs one of its inputs it is said that one is enough")
  func oneIsEnough() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let needingOne: [AnyFuture] = [
      Promises.race(promises), Promises.firstCompleted(promises), Promises.select(promises),
      Promises.first(1, of: promises),
      Promises.hedge(after: .seconds(3600), on: .inline) { _ in promises[0] },
    ]
    let others: [AnyFuture] = [
      Promises.collect(promises), Promises.collect(promises, failingFast: true),
      Promises.reduce(promises, 0, on: .inline, +), Promises.first(2, of: promises),
      Promises.traverse(promises, on: .inline) { $0 },
    ]
    for future in needingOne {
      #expect(future.explain().steps[0].needsOnlyOne, "\(future.explain())")
    }
    for future in others {
      let explanation = future.explain()
      #expect(explanation.roots.count == 3)
      #expect(explanation.steps.allSatisfy { !$0.needsOnlyOne }, "\(explanation)")
    }
    for promise in promises { promise.cancel() }
    let next = (0..<3).map { _ in Promise<Int>() }
    let oneIsLeft = Promises.first(2, of: next)
    next[0].succeed(with: 1)
    #expect(oneIsLeft.explain().steps[0].needsOnlyOne)
    for promise in next { promise.cancel() }
  }

  @Test("Joins inside joins, 20,000 deep, stay small and find their roots")
  func deepJoins() async throws {
    try await SmallStackThread.running {
      let promises = (0..<20_000).map { _ in Promise<Int>() }
      var last: Future<Int> = promises[0]
      for promise in promises.dropFirst() {
        last = Promises.collect([last, promise]).mapToValue(on: .inline) { $0[0] }
      }
      let explanation = last.explain()
      #expect(!explanation.roots.isEmpty)
      #expect(explanation.steps.count < 128)
      #expect(explanation.omittedCount > 0)
      #expect(explanation.description.count < 40_000)
      for promise in promises { promise.cancel() }
    }
  }

  @Test("A lattice with 2^1000 paths is walked once")
  func lattice() {
    let promise = Promise<Int>()
    var last: Future<Int> = promise
    for _ in 0..<1_000 {
      let source = last
      last = Promises.collect([
        source.mapToValue(on: .inline) { $0 }, source.mapToValue(on: .inline) { $0 },
      ]).mapToValue(on: .inline) { $0[0] }
    }
    let explanation = last.explain()
    #expect(explanation.roots.count == 1)
    #expect(explanation.steps.count < 128)
    promise.cancel()
  }

  @Test("A diamond shows its promise once, and refers to it")
  func diamond() {
    let promise = Promise<Int>()
    let both = Promises.collect([
      promise.mapToValue(on: .inline) { $0 }, promise.mapToValue(on: .inline) { $0 },
    ])
    let explanation = both.explain()
    #expect(explanation.steps.count == 4)
    #expect(explanation.roots == [2])
    #expect(explanation.steps[3].waitsFor == [2])
    #expect(explanation.description.contains("see above"))
    promise.cancel()
  }

  @Test("Futures may settle while they are explained")
  func concurrent() async throws {
    for _ in 0..<50 {
      let promises = (0..<20).map { _ in Promise<Int>() }
      let all = Promises.collect(
        promises.map { promise in
          promise.mapToValue(on: .global()) { $0 }.mapToFuture(on: .global()) { value in
            Promises.run(on: .global()) { value }
          }
        })
      let start = SpinBarrier(2)
      // (On a thread of its own: this test spins on one of the pool's threads.)
      let settler = Promises.run(on: ThreadContext()) {
        start.meet()
        for promise in promises { promise.succeed(with: 1) }
      }
      start.meet()
      while !all.isFulfilled {
        let explanation = all.explain()
        #expect(!explanation.steps.isEmpty)
        #expect(!explanation.description.isEmpty)
        await Task.yield()
      }
      #expect(try await all.value.count == 20)
      try await settler.value
    }
  }

  @Test("An explanation keeps no future")
  func lifetime() {
    weak var weakPromise: Promise<Int>?
    let explanation: FutureExplanation
    do {
      let promise = Promise<Int>()
      weakPromise = promise
      explanation = promise.mapToValue(on: .inline) { $0 }.explain()
    }
    #expect(weakPromise == nil)
    #expect(explanation.steps.count == 2)
  }

  private static let hostileNames = [
    "\"]; end\n```", "}{ [x] --> y", "👩‍🚀\u{0}\u{1B}", "\\", "\r\n",
    String(repeating: "👩‍🚀\"", count: 10_000),
  ]

  // (By their places: the test runner would print the names as they are.)
  @Test(
    "Names with quotes, newlines, braces, emoji and 10,000 characters are escaped and shortened",
    arguments: hostileNames.indices)
  func names(_ place: Int) throws {
    let name = Self.hostileNames[place]
    let promise = Promise<Int>(name: name)
    let explanation = promise.mapToVoid().explain()
    #expect(explanation.description.split(separator: "\n").count == 3)
    #expect(explanation.description.count < 600)
    let mermaid = explanation.mermaid.split(separator: "\n")
    #expect(mermaid.count == 4)
    #expect(mermaid.allSatisfy { $0.filter { $0 == "\"" }.count.isMultiple(of: 2) })
    #expect(mermaid[1...2].allSatisfy { $0.hasSuffix("\"]") })
    let dot = explanation.dot.split(separator: "\n")
    #expect(dot.count == 6)
    for line in dot[2...3] {
      let unescaped = line.replacing("\\\\", with: "").replacing("\\\"", with: "")
      #expect(unescaped.filter { $0 == "\"" }.count == 2)
    }
    promise.cancel()
  }
}
