import Foundation
import Futures
import TestSupport
import Testing

@Suite("Broken promises", .timeLimit(.minutes(5)), .oneAtATime)
struct BrokenPromiseTests {
  private func site(_ future: AnyFuture?) -> CreationSite? {
    guard case .brokenPromise(let site)? = future?.anyError as? ProperationsError else {
      return nil
    }
    return site
  }

  @Test(.guarantee(5)) func `a dropped promise fails what was derived, with its type and place`() {
    let line = #line + 1
    let future = { Promise<Int>().mapToValue(on: .inline) { "\($0)" } }()
    #expect(site(future)?.line == line)
    #expect(site(future)?.fileID == "FuturesTests/BrokenPromiseTests.swift")
    #expect(site(future)?.valueType == "Int")
    #expect(!future.isCancelled)
  }

  @Test func `a promise dropped by a closure that is released unrun fails its consumers`() {
    let queue = DispatchQueue(label: "producer")
    let line = #line + 1
    var promise: Promise<Int>? = Promise<Int>()
    let future = promise?.mapToValue(on: .inline) { $0 }
    do {
      let work = DispatchWorkItem { [promise] in promise?.succeed(with: 1) }
      work.cancel()
      promise = nil
      queue.sync {}
    }
    #expect(site(future)?.line == line)
  }

  @Test(.guarantee(5)) func `a producer that throws before it settles breaks its promise`()
    async throws
  {
    let future = Box<Future<Int>?>(nil)
    func produce() throws {
      let promise = Promise<Int>()
      future.value = promise.mapToValue(on: .inline) { $0 }
      if future.value != nil { throw TestError.first }
      promise.succeed(with: 1)
    }
    #expect(throws: TestError.first) { try produce() }
    #expect(site(future.value) != nil)
  }

  @Test func `a promise that only a cancelled task holds breaks`() async {
    let future = Box<Future<Int>?>(nil)
    let made = Event()
    let task = Task {
      let promise = Promise<Int>()
      future.value = promise.mapToValue(on: .inline) { $0 }
      made.signal()
      try await Task.sleep(for: .seconds(1_000))
      promise.succeed(with: 1)
    }
    #expect(await made.opened())
    task.cancel()
    #expect(await eventually { future.value?.isFulfilled == true })
    #expect(site(future.value) != nil)
  }

  @Test func `a task that awaits a future derived from a dropped promise gets the error`() async {
    var promise: Promise<Int>? = Promise<Int>()
    guard let future = promise?.mapToValue(on: .inline, using: { $0 }) else { return }
    let waiting = Task { await future.completion }
    #expect(await hasWaiter(future))
    promise = nil
    let error = await waiting.value.failureValue as? ProperationsError
    #expect(error?.localizedDescription.contains("BrokenPromiseTests.swift") == true)
  }

  @Test func `dropping one input of a combination fails it, by position`() {
    let kept = Promise<String>()
    let future = Promises.combine(kept, Promise<Int>())
    kept.succeed(with: "")
    guard case .multipleErrors(let errors)? = future.anyError as? ProperationsError else {
      Issue.record("\(future)")
      return
    }
    #expect(errors.count == 2)
    #expect(errors[0] == nil)
    guard case .brokenPromise? = errors[1] as? ProperationsError else {
      Issue.record("\(errors)")
      return
    }
  }

  @Test func `dropping all runners of a race fails it`() {
    let future = Promises.race([Promise<Int>(), Promise<Int>()])
    guard case .multipleErrors? = future.anyError as? ProperationsError else {
      Issue.record("\(future)")
      return
    }
  }

  @Test func `a resolver released unused breaks its future, whoever holds that`() {
    let line = #line + 1
    let future = Promises.withResolver(promising: Int.self) { _ in }
    #expect(site(future)?.line == line)
    #expect(site(future)?.valueType == "Int")
  }

  @Test func `a wrapped function that lets go of its handler breaks the future`() {
    let future: Future<Int> = Promises.wrap { (_: @escaping @Sendable (Int) -> Void) in }
    #expect(site(future) != nil)
  }

  @Test(.guarantee(5)) func `a context that drops its operations breaks the futures`() {
    struct Dropping: ExecutionContext { func execute(_ operation: Operation) {} }
    let line = #line + 1
    let map = Promises.makeSucceeded(with: 1).mapToValue(on: Dropping()) { $0 }
    #expect(site(map)?.line == line)
    #expect(site(Promises.run(on: Dropping()) { 1 }) != nil)
    #expect(site(Promises.makeSucceeded(with: 1).always(on: Dropping()) {}) != nil)
    let flat = Promises.makeSucceeded(with: 1).mapToFuture(on: Dropping()) { _ in Promise<Int>() }
    #expect(site(flat) != nil)
    let elements = Promises.makeSucceeded(with: [1]).mapElementsToFuture(on: Dropping()) { _ in
      Promise<Int>()
    }
    #expect(site(elements) != nil)
  }

  @Test func `a context that drops an observer's handler leaves its future alone`() {
    struct Dropping: ExecutionContext { func execute(_ operation: Operation) {} }
    let future = Promises.makeSucceeded(with: 1).onSuccess(on: Dropping()) { _ in }
    #expect(future.result?.successValue == 1)
  }

  @Test func `a manual context that drops later breaks the futures then`() {
    let context = ManualContext()
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: context) { $0 }
    #expect(!future.isFulfilled)
    context.dropAll()
    #expect(site(future) != nil)
  }

  @Test func `recover mends a broken promise`() {
    let future = { Promise<Int>().recover(on: .inline) { _ in 7 } }()
    #expect(future.result?.successValue == 7)
  }

  @Test func `always runs for a broken promise`() {
    let ran = Counter()
    _ = { Promise<Int>().always(on: .inline) { ran.add() } }()
    #expect(ran.value == 1)
  }

  @Test(.guarantee(7)) func `a chain of 100,000 links breaks on a small stack`() async throws {
    let isBroken = try await SmallStackThread.running {
      var promise: Promise<Int>? = Promise<Int>()
      var last: Future<Int>? = promise
      for _ in 0..<100_000 { last = last?.mapToValue(on: .inline) { $0 } }
      promise = nil
      return last?.anyError is ProperationsError
    }
    #expect(isBroken)
  }

  @Test(.guarantee(5))
  func `dropping a promise while another thread derives from it always settles: 2,000 rounds`()
    async
  {
    let pending = Counter()
    let ended = await RaceHarness(threads: 2, rounds: 2_000).run { _ in
      let promise = Promise<Int>()
      return (
        Box<Promise<Int>?>(promise), promise.mapToValue(on: .inline) { $0 }, Box<AnyFuture?>(nil)
      )
    } act: { subject, thread in
      if thread == 0 {
        subject.0.value = nil
      } else {
        subject.2.value = subject.0.value?.mapToValue(on: .inline) { $0 }.onSuccess(on: .inline) {
          _ in
        }
      }
    } check: { subject, _ in
      if !subject.1.isFulfilled || subject.2.value?.isFulfilled == false { pending.add() }
    }
    #expect(ended)
    #expect(pending.value == 0)
  }
}
