import Foundation
import Futures
import TestSupport
import Testing

/// Every combinator under schedules that a seed decides: when its input
/// settles, when its output is cancelled or let go, who else looks on, and
/// which closure runs next.
@Suite("Seeded schedules of combinators", .timeLimit(.minutes(5)), .oneAtATime)
struct SeededCombinatorTests {
  /// One run of one combinator, and all that is known of it.
  private struct Program {
    let combinator: CombinatorCase
    let context: ManualContext
    /// Runs what it is given in order, so that the order can be checked.
    let onlookers = ManualContext()
    let tracker = LifetimeTracker()
    let runs = Counter()
    let seen = Log<Int>()

    private var input: Promise<Int>? = Promise<Int>()
    private var output: AnyFuture?
    private weak var weakOutput: AnyFuture?
    private var sibling: Future<Int>?

    /// How the input ended; `nil` before.
    private var outcome: InputOutcome?
    private var wasBroken = false
    private var onlookerCount = 0
    /// Whether the output was cancelled before it had settled.
    private var wasCancelled = false
    /// Whether that was even before its input had settled.
    private var wasCancelledFirst = false

    init(_ combinator: CombinatorCase, on context: ManualContext, hasSibling: Bool) {
      self.combinator = combinator
      self.context = context
      guard let input else { return }
      let object = tracker.make()
      output = combinator.derive(input) { [runs] in
        object.touch()
        runs.add()
      }
      weakOutput = output
      if hasSibling { sibling = input.mapToValue(on: context) { $0 + 1 } }
    }

    /// Does one thing; returns what was wrong with it.
    mutating func act(_ generator: inout SeededGenerator) -> String? {
      switch Int.random(in: 0..<12, using: &generator) {
      case 0: return settle(.success)
      case 1: return settle(.failure)
      case 2: return settle(.cancelled)
      case 3: return Int.random(in: 0..<3, using: &generator) == 0 ? breakPromise() : nil
      case 4: return Bool.random(using: &generator) ? cancel() : nil
      case 5: return Int.random(in: 0..<3, using: &generator) == 0 ? dropOutput() : nil
      case 6, 7: return lookOn()
      case 8: onlookers.runNext()
      default: context.runOne(using: &generator)
      }
      return contradiction
    }

    private mutating func settle(_ new: InputOutcome) -> String? {
      guard let input else { return nil }
      let isFirst: Bool
      switch new {
      case .success: isFirst = input.succeed(with: 1)
      case .failure: isFirst = input.fail(with: TestError.first)
      case .cancelled:
        isFirst = !input.isFulfilled
        input.cancel()
      }
      guard isFirst == (outcome == nil) else { return "the input was settled twice, or not at all" }
      if isFirst { outcome = new }
      return contradiction
    }

    private mutating func breakPromise() -> String? {
      if outcome == nil {
        outcome = .failure
        wasBroken = true
      }
      input = nil
      return contradiction
    }

    private mutating func cancel() -> String? {
      guard let output else { return nil }
      let isPending = !output.isFulfilled
      output.cancel()
      output.cancel()
      guard isPending else { return contradiction }
      // (A timer or a task may settle it between the question and the cancellation.)
      if combinator.needsOthers, output.isFulfilled, !output.isCancelled { return contradiction }
      wasCancelled = true
      guard output.isCancelled, output.isFulfilled else { return "cancelled, and has not settled" }
      if outcome == nil {
        wasCancelledFirst = true
        let travelsUp = combinator.cancelsInput && sibling == nil
        if input?.isCancelled != travelsUp { return "the input was cancelled: \(!travelsUp)" }
        if travelsUp { outcome = .cancelled }
      }
      return contradiction
    }

    private mutating func dropOutput() -> String? {
      output = nil
      return nil
    }

    private mutating func lookOn() -> String? {
      guard let output else { return nil }
      let number = onlookerCount
      onlookerCount += 1
      let before = seen.count
      output.onAnyCompletion(on: onlookers) { [seen] in seen.append(number) }
      return seen.count == before ? contradiction : "ran before the call that added it returned"
    }

    /// What may never be seen, at any moment.
    private var contradiction: String? {
      guard let output = weakOutput else { return nil }
      if output.isFinished, !output.isFulfilled { return "finished without a result" }
      if output.isFinished, output.isExecuting { return "finished and executing" }
      if output.isCancelled, !output.isFulfilled { return "cancelled without a result" }
      if seen.entries != Array(0..<seen.count) { return "onlookers out of order: \(seen.entries)" }
      return nil
    }

    /// Lets everything end, and says what is wrong then.
    mutating func end(_ generator: inout SeededGenerator) async -> String? {
      if outcome == nil, let fault = settle(.success) { return fault }
      guard let outcome else { return "the input never ended" }
      context.runAll(using: &generator)
      if combinator.needsOthers {
        let expected = expectedRuns(for: outcome)
        _ = await eventually {
          context.runAll()
          onlookers.runAll()
          return weakOutput?.isFinished != false && runs.value >= expected.lowerBound
            && seen.count == onlookerCount
        }
      }
      onlookers.runAll()
      return fault(after: outcome)
    }

    private func expectedRuns(for outcome: InputOutcome) -> ClosedRange<Int> {
      let expected = combinator.expected(for: outcome).runs
      let whenCancelled = combinator.runsWhenOutputIsCancelled
      // A broken promise is an error that some recoveries are not meant for,
      // and others are.
      if wasBroken, combinator.name.hasPrefix("recover") { return 0...1 }
      if wasCancelledFirst { return whenCancelled...whenCancelled }
      // Between its input and its closure: the closure runs, or does not any more.
      if wasCancelled { return min(expected, whenCancelled)...max(expected, whenCancelled) }
      return expected...expected
    }

    private func fault(after input: InputOutcome) -> String? {
      let runsExpected = expectedRuns(for: input)
      if !runsExpected.contains(runs.value) {
        return "the closure ran \(runs.value) times, not \(runsExpected)"
      }
      if seen.entries != Array(0..<onlookerCount) {
        return "\(onlookerCount) onlookers saw \(seen.entries)"
      }
      if let sibling, sibling.isFulfilled == false || sibling.isCancelled != (input == .cancelled) {
        return "the sibling was touched: \(sibling)"
      }
      guard let output else { return nil }
      if !output.isFinished { return "the output never finished" }
      if wasCancelled { return output.isCancelled ? nil : "the cancellation was taken back" }
      if wasBroken, combinator.name.hasPrefix("recover") { return nil }
      let expected = combinator.expected(for: input).outcome
      let found: InputOutcome =
        output.isCancelled ? .cancelled : output.anyError == nil ? .success : .failure
      return found == expected ? nil : "ended with \(found), not \(expected)"
    }
  }

  @Test(.guarantee(3, 8)) func `every combinator, in whatever order things happen, keeps its word`()
    async
  {
    await SeededSchedules.play("SeededCombinatorTests") { generator in
      let context = ManualContext()
      let cases = CombinatorCase.cases(on: context)
      // The few that need time come seldom.
      let quick = cases.filter { !$0.needsOthers }
      let isQuick = Int.random(in: 0..<50, using: &generator) > 0
      guard let combinator = (isQuick ? quick : cases).randomElement(using: &generator) else {
        return "there are no combinators"
      }
      let hasSibling = Bool.random(using: &generator)
      let tracker: LifetimeTracker
      do {
        var program = Program(combinator, on: context, hasSibling: hasSibling)
        tracker = program.tracker
        for _ in 0..<Int.random(in: 1...20, using: &generator) {
          if let fault = program.act(&generator) { return "\(combinator.name): \(fault)" }
        }
        if let fault = await program.end(&generator) { return "\(combinator.name): \(fault)" }
      }
      if tracker.alive == 0 { return nil }
      // (A task or a timer may be letting go just now.)
      return await eventually { tracker.alive == 0 }
        ? nil : "\(combinator.name): something that a closure captured is kept"
    }
  }
}

extension AnyFuture {
  /// `onCompletion` for a future of any type that the cases have.
  fileprivate func onAnyCompletion(
    on context: ManualContext, _ body: @escaping @Sendable () -> Void
  ) {
    func attach<Success: Sendable>(_ future: Future<Success>) {
      future.onCompletion(on: context) { _ in body() }
    }
    switch self {
    case let future as Future<Int>: attach(future)
    case let future as Future<String>: attach(future)
    case let future as Future<Void>: attach(future)
    case let future as Future<[Int]>: attach(future)
    case let future as Future<(Int, Int)>: attach(future)
    case let future as Future<[FutureResult<Int>]>: attach(future)
    default: Issue.record("no onlookers for \(type(of: self))")
    }
  }
}
