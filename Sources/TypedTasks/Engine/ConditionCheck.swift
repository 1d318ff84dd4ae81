import Futures

/// Collects the answers of the conditions of one task.
///
///   asking ── the last answer ──▶ decided
///      └───── abandon ──────────▶ abandoned
///
/// Later answers, and a second answer of one condition, are ignored.
final class ConditionCheck: @unchecked Sendable {
  // Sendable: `state` has a lock.
  private struct State {
    var answers: [(any Error)??]
    var remaining: Int
    var decide: (([any Error]) -> Void)?
    var unanswered: (() -> any Error)?
  }

  private let state: Lock<State>

  /// Makes a check.
  ///
  /// - Parameters:
  ///   - unanswered: Makes the error of a condition that can no longer answer.
  ///   - decide: Gets the errors in the order of the conditions, once.
  init(
    count: Int, unanswered: @escaping () -> any Error, _ decide: @escaping ([any Error]) -> Void
  ) {
    state = Lock(
      State(
        answers: Array(repeating: nil, count: count), remaining: count, decide: decide,
        unanswered: unanswered))
  }

  func answer(_ answer: Result<Void, any Error>, at index: Int) {
    typealias Decision = (
      errors: [any Error], decide: ([any Error]) -> Void, last: (() -> any Error)?
    )
    let decision: Decision? = state.withLock { state in
      guard state.decide != nil, state.answers[index] == nil else { return nil }
      switch answer {
      case .success: state.answers[index] = .some(nil)
      case .failure(let error): state.answers[index] = .some(error)
      }
      state.remaining -= 1
      guard state.remaining == 0, let decide = state.decide.take() else { return nil }
      return (state.answers.compactMap { $0 ?? nil }, decide, state.unanswered.take())
    }
    decision?.decide(decision?.errors ?? [])
  }

  /// The indices of the conditions that have not answered.
  var unanswered: [Int] {
    state.withLock { state in
      state.decide == nil ? [] : state.answers.indices.filter { state.answers[$0] == nil }
    }
  }

  /// The right to answer for one condition.
  ///
  /// If it is released unused, no answer can come any more; the release counts as a
  /// failure.
  final class Answer: Sendable {
    private let check: ConditionCheck
    private let index: Int

    init(to check: ConditionCheck, at index: Int) {
      self.check = check
      self.index = index
    }

    func callAsFunction(_ answer: Result<Void, any Error>) { check.answer(answer, at: index) }

    deinit {
      let unanswered = check.state.withLock { state in
        state.decide == nil || state.answers[index] != nil ? nil : state.unanswered
      }
      if let unanswered { check.answer(.failure(unanswered()), at: index) }
    }
  }

  /// Releases the closures, because the task has ended otherwise.
  func abandon() {
    let closures = state.withLock { ($0.decide.take(), $0.unanswered.take()) }
    withExtendedLifetime(closures) {}
  }
}
