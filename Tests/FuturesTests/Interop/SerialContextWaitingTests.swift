import Foundation
import Futures
import TestSupport
import Testing

/// How long a wait may take that the library has to end.
private let patience = Event.patience

/// Contexts that run one closure at a time.
private enum SerialContext: CaseIterable, Sendable {
  case operationQueue
  case dispatchQueue

  func make() -> (context: any ExecutionContext, name: String) {
    switch self {
    case .operationQueue:
      let queue = OperationQueue()
      queue.name = "narrow"
      queue.maxConcurrentOperationCount = 1
      return (queue, "the operation queue \"narrow\"")
    case .dispatchQueue:
      return (DispatchQueue(label: "narrow"), "the dispatch queue \"narrow\"")
    }
  }
}

/// Futures that come to need a context only while a closure waits for them.
private enum Needing: CaseIterable, Sendable {
  case elements
  case inner
  case dependency

  func make(on context: some ExecutionContext) -> Future<Int> {
    switch self {
    case .elements:
      return later().mapToValue(on: .inline) { [$0] }
        .mapElementsToFuture(on: context) { Promises.makeSucceeded(with: $0) }
        .mapToValue(on: .inline) { $0[0] }
    case .inner:
      return later().mapToFuture(on: ThreadContext()) { value in
        Promises.run(on: context) { value }
      }
    case .dependency:
      let future = later().mapToValue(on: ThreadContext()) { $0 }
      future.addDependency(later().mapToValue(on: context) { $0 } as Operation)
      return future
    }
  }
}

/// Futures that need a context for something else than their result.
private enum Managing: CaseIterable, Sendable {
  case onSuccess
  case fallback
  case race

  func make(on context: some ExecutionContext) -> Future<Int> {
    switch self {
    case .onSuccess: later().onSuccess(on: context) { _ in }
    case .fallback:
      Promises.run(on: context) { 7 }.timeout(after: .milliseconds(50), fallback: 1)
    case .race: Promises.race([Promises.run(on: context) { 7 }, later()])
    }
  }
}

@Suite("Waits in a closure on a serial context", .timeLimit(.minutes(5)), .oneAtATime)
struct SerialContextWaitingTests {
  @Test(arguments: SerialContext.allCases, Needing.allCases)
  fileprivate func `a wait for a future that comes to need the very context is refused`(
    _ serial: SerialContext, _ needing: Needing
  ) async {
    let (context, name) = serial.make()
    let future = run(on: context) {
      try needing.make(on: $0).wait(timeout: patience)
    }
    let error = await future.completion.failureValue
    #expect(error as? ProperationsError == .wouldDeadlock(queue: name))
  }

  @Test(arguments: SerialContext.allCases, Managing.allCases)
  fileprivate func `a wait for a future that can settle without the context gets the value`(
    _ serial: SerialContext, _ managing: Managing
  ) async {
    let (context, _) = serial.make()
    let future = run(on: context) {
      try managing.make(on: $0).wait(timeout: patience)
    }
    let result = await future.completion
    #expect(result.successValue == 1)
  }

  private static func narrow(_ limit: Int = 1) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = limit
    return queue
  }

  @Test func `closures of two serial queues that wait for each other's next ones: one is refused`()
    async
  {
    let queues = [Self.narrow(), Self.narrow()]
    let both = Barrier(2)
    let futures = [0, 1].map { index in
      Promises.run(on: queues[index]) {
        both.meet()
        return try Promises.run(on: queues[1 - index]) { 1 }.wait(timeout: patience)
      }
    }
    var refused = 0
    for future in futures {
      guard let error = await future.completion.failureValue else { continue }
      guard case .wouldDeadlock = error as? ProperationsError else {
        Issue.record("\(error)")
        continue
      }
      refused += 1
    }
    #expect(refused > 0)
  }

  @Test func `a full queue whose one closure waits for a promise refuses the other one nothing`()
    async
  {
    let (queue, promise, both) = (Self.narrow(2), Promise<Int>(), Barrier(3))
    let first = Promises.run(on: queue) {
      both.meet()
      return try promise.wait(timeout: patience)
    }
    let second = Promises.run(on: queue) {
      both.meet()
      return try Promises.run(on: queue) { 2 }.wait(timeout: patience)
    }
    both.meet()
    #expect(!(await eventually(within: .milliseconds(100)) { second.isFulfilled }))
    promise.succeed(with: 1)
    #expect(await first.completion.successValue == 1)
    #expect(await second.completion.successValue == 2)
  }

  private func run(
    on context: some ExecutionContext,
    _ body: @escaping @Sendable (any ExecutionContext) throws -> Int
  ) -> Future<Int> {
    Promises.run(on: context) { try body(context) }
  }
}
