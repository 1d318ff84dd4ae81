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
    /// The task, until the check is decided or abandoned.
    var task: AnyFuture?
  }

  private let state: Lock<State>

  init(of task: AnyFuture, count: Int) {
    state = Lock(
      State(answers: Array(repeating: nil, count: count), remaining: count, task: task))
  }

  func answer(_ answer: Result<Void, any Error>, at index: Int) {
    let decision: (task: AnyFuture, errors: [any Error])? = state.withLock { state in
      guard state.task != nil, state.answers[index] == nil else { return nil }
      switch answer {
      case .success: state.answers[index] = .some(nil)
      case .failure(let error): state.answers[index] = .some(error)
      }
      state.remaining -= 1
      guard state.remaining == 0, let task = state.task.take() else { return nil }
      return (task, state.answers.compactMap { $0 ?? nil })
    }
    if let (task, errors) = decision { task.taskCore?.conditionsHaveAnswered(task, errors) }
  }

  /// The indices of the conditions that have not answered.
  var unanswered: [Int] {
    state.withLock { state in
      state.task == nil ? [] : state.answers.indices.filter { state.answers[$0] == nil }
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
      let task = check.state.withLock { $0.answers[index] == nil ? $0.task : nil }
      guard let task else { return }
      let error = ProducerTaskError.unfinished(task: task.taskName, createdAt: task.createdAt)
      check.answer(.failure(error), at: index)
    }
  }

  /// Releases the task, because it has ended otherwise.
  func abandon() {
    let task = state.withLock { $0.task.take() }
    withExtendedLifetime(task) {}
  }
}
