import Foundation

/// The operations that a future depends on.
///
/// Foundation's own bookkeeping is not used for them: on Linux an operation
/// that loses an unfinished dependency never becomes ready again, and one that
/// goes away before its dependency leaves a dangling pointer behind. Each
/// dependency is watched by an object of its own instead.
///
///   holding a job ── last one finished or removed ──▶ the job is handed off
final class DependencyList: @unchecked Sendable {
  // Sendable: `state` has a lock, the rest never changes.
  private struct State {
    var entries: [(operation: Operation, observer: FinishObserver?)] = []
    var held: (job: Job, context: ContextReference)?
    var slot: QueueSlot?
  }

  private let state = Lock(State())
  private let owner: FutureReference

  init(of future: FutureReference) { owner = future }

  /// What stands for the future in a queue, and is ready when the future is.
  ///
  /// The slot takes itself out at its end.
  var slot: QueueSlot? {
    get { state.withLock { $0.slot } }
    set { state.withLock { $0.slot = newValue } }
  }

  var operations: [Operation] { state.withLock { $0.entries.map(\.operation) } }

  /// Whether all of them have finished.
  var isSatisfied: Bool { state.withLock { $0.entries.allSatisfy { $0.observer == nil } } }

  /// Adds a dependency, unless it is there.
  func add(_ operation: Operation) {
    let isNew = state.withLock { state in
      if state.entries.contains(where: { $0.operation === operation }) { return false }
      state.entries.append((operation, nil))
      return true
    }
    guard isNew, !operation.isFinished else { return }
    let observer = FinishObserver(armedFor: operation) { [weak self] operation in
      self?.change { entry in
        if entry.operation === operation { entry.observer = nil }
        return true
      }
    }
    let isThere = state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.operation === operation }) else {
        return false
      }
      state.entries[index].observer = observer
      return true
    }
    if isThere { observer.start(observing: operation) }
  }

  func remove(_ operation: Operation) { change { $0.operation !== operation } }

  /// Forgets all of them, and the job.
  func clear() {
    let last = state.withLock { state in
      defer { state = State(slot: state.slot) }
      return state
    }
    for entry in last.entries { entry.observer?.stop() }
  }

  /// Keeps a job until all have finished.
  ///
  /// `false` if they have.
  func hold(_ job: Job, on context: ContextReference) -> Bool {
    state.withLock { state in
      if state.entries.allSatisfy({ $0.observer == nil }) { return false }
      state.held = (job, context)
      return true
    }
  }

  /// Changes the entries, drops those for which `keep` is false, and goes on
  /// with what waited if nothing is left to wait for.
  private func change(_ keep: (inout (operation: Operation, observer: FinishObserver?)) -> Bool) {
    let (all, dropped, isSatisfied, held) = state.withLock { state in
      var kept: [(operation: Operation, observer: FinishObserver?)] = []
      let all = state.entries
      for var entry in all where keep(&entry) { kept.append(entry) }
      let operations = kept.map(\.operation)
      let dropped = all.filter { entry in !operations.contains { $0 === entry.operation } }
      state.entries = kept
      let isSatisfied = kept.allSatisfy { $0.observer == nil }
      // All comes out: the last to be released must not be so under the lock.
      return (all, dropped, isSatisfied, isSatisfied ? state.held.take() : nil)
    }
    defer { withExtendedLifetime(all) {} }
    for entry in dropped { entry.observer?.stop() }
    guard isSatisfied, let future = owner.future else { return }
    if let (job, context) = held {
      let drain = Drain.current
      drain.batch { job.handOff(to: context, in: drain) }
    }
    if !future.isFinished { (slot ?? future).post("isReady") }
  }
}
