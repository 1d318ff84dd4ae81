import Futures

/// Collects the answers of the conditions of one task.
///
///   asking ── the last answer ──▶ decided        answers after that, and second
///      └───── abandon ──────────▶ abandoned      ones, count for nothing
final class ConditionCheck: @unchecked Sendable {
  // Sendable: `state` has a lock.
  private struct State {
    var answers: [(any Error)??]
    var remaining: Int
    var decide: (([any Error]) -> Void)?
  }

  private let state: Lock<State>

  /// Makes a check.
  ///
  /// - Parameter decide: Gets the errors in the order of the conditions, once.
  init(count: Int, _ decide: @escaping ([any Error]) -> Void) {
    state = Lock(
      State(answers: Array(repeating: nil, count: count), remaining: count, decide: decide))
  }

  func answer(_ answer: Result<Void, any Error>, at index: Int) {
    let decision: (errors: [any Error], decide: ([any Error]) -> Void)? = state.withLock { state in
      guard state.decide != nil, state.answers[index] == nil else { return nil }
      switch answer {
      case .success: state.answers[index] = .some(nil)
      case .failure(let error): state.answers[index] = .some(error)
      }
      state.remaining -= 1
      guard state.remaining == 0, let decide = state.decide.take() else { return nil }
      return (state.answers.compactMap { $0 ?? nil }, decide)
    }
    decision?.decide(decision?.errors ?? [])
  }

  /// The task has ended otherwise: lets go of it.
  func abandon() {
    let decide = state.withLock { $0.decide.take() }
    withExtendedLifetime(decide) {}
  }
}
