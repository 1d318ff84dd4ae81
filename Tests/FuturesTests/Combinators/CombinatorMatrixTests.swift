import Foundation
import Futures
import TestSupport
import Testing

/// Every combinator, for every way in which its input can end, pending or
/// settled beforehand, and for the cancellation of its output.
@Suite("Every combinator", .timeLimit(.minutes(5)), .oneAtATime)
struct CombinatorMatrixTests {
  private func settle(_ promise: Promise<Int>, _ outcome: InputOutcome) {
    switch outcome {
    case .success: promise.succeed(with: 1)
    case .failure: promise.fail(with: TestError.first)
    case .cancelled: promise.cancel()
    }
  }

  private func outcome(of future: AnyFuture) -> InputOutcome? {
    guard future.isFulfilled else { return nil }
    if future.isCancelled { return .cancelled }
    return future.anyError == nil ? .success : .failure
  }

  /// Checks a combinator on an input that is settled before or after.
  private func check(_ combinator: CombinatorCase, _ outcome: InputOutcome, settledBefore: Bool)
    async
  {
    let promise = Promise<Int>()
    let runs = Counter()
    if settledBefore { settle(promise, outcome) }
    let output = combinator.derive(promise) { runs.add() }
    if !settledBefore {
      #expect(!output.isFulfilled)
      #expect(runs.value == 0)
      settle(promise, outcome)
    }
    let expected = combinator.expected(for: outcome)
    #expect(await eventually { output.isFinished && runs.value >= expected.runs })
    await letContextsCatchUp()
    #expect(self.outcome(of: output) == expected.outcome)
    #expect(runs.value == expected.runs)
    #expect(!output.isExecuting)
  }

  /// Whatever is on its way on the main queue has run after this.
  private func letContextsCatchUp() async {
    await MainActor.run {}
    await withCheckedContinuation { continuation in
      OperationQueue.main.addOperation { continuation.resume() }
    }
  }

  private func checkCancellation(_ combinator: CombinatorCase) async {
    let promise = Promise<Int>()
    let runs = Counter()
    let output = combinator.derive(promise) { runs.add() }
    output.cancel()
    #expect(output.isCancelled)
    #expect(output.isFulfilled)
    #expect(output.isFinished)
    #expect(output.anyError as? ProperationsError == .cancelled)
    #expect(promise.isCancelled == combinator.cancelsInput)
    #expect(await eventually { runs.value >= combinator.runsWhenOutputIsCancelled })
    promise.succeed(with: 1)
    await letContextsCatchUp()
    #expect(runs.value == combinator.runsWhenOutputIsCancelled)
    #expect(output.isCancelled)
  }

  private func checkBreaking(_ combinator: CombinatorCase) async {
    let runs = Counter()
    let output: AnyFuture
    do {
      let promise = Promise<Int>()
      output = combinator.derive(promise) { runs.add() }
    }
    #expect(await eventually { output.isFinished })
    let expected = combinator.expected(for: .failure)
    #expect(await eventually { runs.value == expected.runs || combinator.name.contains("recover") })
    if expected.outcome == .failure, expected.runs == 0, output.anyError != nil {
      #expect("\(output.anyError, default: "none")".contains("brokenPromise"))
    }
  }

  @Test(arguments: CombinatorCase.onContext, [InputOutcome.success, .failure, .cancelled])
  func `a combinator on a context does with a pending input what it says`(
    _ combinator: CombinatorCase, _ outcome: InputOutcome
  ) async {
    await check(combinator, outcome, settledBefore: false)
  }

  @Test(arguments: CombinatorCase.onContext, [InputOutcome.success, .failure, .cancelled])
  func `a combinator on a context does with a settled input what it says`(
    _ combinator: CombinatorCase, _ outcome: InputOutcome
  ) async {
    await check(combinator, outcome, settledBefore: true)
  }

  @Test(arguments: CombinatorCase.onContext)
  func `a combinator on a context whose output is cancelled settles and cancels its input`(
    _ combinator: CombinatorCase
  ) async {
    await checkCancellation(combinator)
  }

  @Test(arguments: CombinatorCase.onContext)
  func `a combinator on a context whose input is broken settles`(
    _ combinator: CombinatorCase
  ) async {
    await checkBreaking(combinator)
  }

  @Test(arguments: CombinatorCase.onMain, [InputOutcome.success, .failure, .cancelled])
  func `a combinator on the main actor does with a pending input what it says`(
    _ combinator: CombinatorCase, _ outcome: InputOutcome
  ) async {
    await check(combinator, outcome, settledBefore: false)
  }

  @Test(arguments: CombinatorCase.onMain, [InputOutcome.success, .failure, .cancelled])
  func `a combinator on the main actor does with a settled input what it says`(
    _ combinator: CombinatorCase, _ outcome: InputOutcome
  ) async {
    await check(combinator, outcome, settledBefore: true)
  }

  @Test(arguments: CombinatorCase.onMain)
  func `a combinator on the main actor whose output is cancelled settles and cancels its input`(
    _ combinator: CombinatorCase
  ) async {
    await checkCancellation(combinator)
  }

  @Test(arguments: CombinatorCase.onMain)
  func `a combinator on the main actor whose input is broken settles`(
    _ combinator: CombinatorCase
  ) async {
    await checkBreaking(combinator)
  }
}
