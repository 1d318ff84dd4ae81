import Foundation
import Futures
import TestSupport
import Testing

/// How long a wait may take that the library has to end.
private let patience = Event.patience

/// A context whose `execute` settles a promise and waits for its consumer
/// before it starts the operation.
private final class SettlingContext: ExecutionContext {
  private let promise = Promise<Int>()
  private let heard = Event()
  /// Whether the consumer had its value in time.
  let answer = Box<Bool?>(nil)

  init() {
    let heard = heard
    promise.onSuccess(on: ThreadContext()) { _ in heard.signal() }
  }

  func execute(_ operation: Operation) {
    promise.succeed(with: 1)
    answer.value = heard.wait(patience)
    operation.start()
  }
}

/// How the library comes to hand an operation to a context.
private enum Handing: CaseIterable, Sendable {
  case settling
  case settlingAfterAnotherLink
  case failing
  case attachingLate
  case attachingLateInAClosure
  case running
  case afterABatch
  case openingADependency

  func hand(to context: SettlingContext) {
    let promise = Promise<Int>()
    switch self {
    case .settling:
      promise.onSuccess(on: context) { _ in }
      promise.succeed(with: 1)
    case .settlingAfterAnotherLink:
      promise.mapToValue(on: .inline) { $0 }.onSuccess(on: context) { _ in }
      promise.succeed(with: 1)
    case .failing:
      promise.onFailure(on: context) { _ in }
      promise.fail(with: TestError.first)
    case .attachingLate:
      promise.succeed(with: 1)
      promise.onSuccess(on: context) { _ in }
    case .attachingLateInAClosure:
      promise.onSuccess(on: .inline) { _ in
        Promises.makeSucceeded(with: 1).onSuccess(on: context) { _ in }
      }
      promise.succeed(with: 1)
    case .running:
      _ = Promises.run(on: context) {}
    case .afterABatch:
      promise.mapToValue(on: ThreadContext()) { $0 }.onSuccess(on: context) { _ in }
      promise.succeed(with: 1)
    case .openingADependency:
      let gate = Promise<Int>()
      promise.mapToValue(on: context) { $0 }.addDependency(gate)
      promise.succeed(with: 1)
      gate.succeed(with: 1)
    }
  }
}

@Suite("Settling in a context's execute", .timeLimit(.minutes(5)), .oneAtATime)
struct ExecuteEffectTests {
  @Test(arguments: Handing.allCases)
  fileprivate func `an execute that settles a promise and waits for its consumer gets the value`(
    _ handing: Handing
  ) async {
    let context = SettlingContext()
    Thread { handing.hand(to: context) }.start()
    #expect(await eventually { context.answer.value != nil })
    #expect(context.answer.value == true)
  }
}
