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
    case .race: [Promises.run(on: context) { 7 }, later()].raceFutures()
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

  private func run(
    on context: some ExecutionContext,
    _ body: @escaping @Sendable (any ExecutionContext) throws -> Int
  ) -> Future<Int> {
    Promises.run(on: context) { try body(context) }
  }
}
