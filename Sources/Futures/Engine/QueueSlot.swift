import Foundation

/// What stands in a queue for a future that occupies it.
///
/// The queue owns its operations until they have finished. If it held the
/// future itself, a producer that loses the future would leave it, and the
/// slot, pending for ever. So the queue holds a slot, and the slot owns its
/// future only until it has started it.
///
///   waiting ── start ──▶ occupied ── settled, or released ──▶ finished
///      └── settled ──▶ over: ready whatever it waits for ── start ──▶ finished
final class QueueSlot: Operation, @unchecked Sendable {
  // Sendable: `state` has a lock, the rest never changes.
  private struct State {
    /// Who is to have the slot, until it is started.
    var tenant: AnyFuture?
    var isStarted = false
    var isOver = false
  }

  private let state: Lock<State>
  private let reference: FutureReference
  /// What the future depends on; here, because a queue asks for readiness
  /// under its lock, where no reference to the future may be taken: it might
  /// be the last one to go.
  private let awaited: DependencyList

  init(for future: AnyFuture) {
    state = Lock(State(tenant: future))
    reference = future.reference
    awaited = future.storage.dependencies(of: future)
    super.init()
    awaited.slot = self
    name = future.name
    queuePriority = future.queuePriority
    qualityOfService = future.qualityOfService
  }

  override var isAsynchronous: Bool { true }

  override var isReady: Bool {
    unexplored { state.withLock { $0.isOver } || super.isReady && awaited.isSatisfied }
  }

  override var isExecuting: Bool {
    unexplored { state.withLock { $0.isStarted && !$0.isOver } }
  }

  override var isFinished: Bool {
    unexplored { state.withLock { $0.isStarted && $0.isOver } }
  }

  override func start() {
    let (tenant, isOver) = state.withLock { state in
      state.isStarted = true
      return (state.tenant.take(), state.isOver)
    }
    if isOver { post("isFinished") } else { tenant?.start() }
  }

  /// Cancelling the operation is cancelling the future.
  override func cancel() { reference.future?.cancel() }

  /// The future needs the slot no more.
  fileprivate func end() {
    let (tenant, isStarted, wasOver) = state.withLock { state in
      defer { state.isOver = true }
      return (state.tenant.take(), state.isStarted, state.isOver)
    }
    guard !wasOver else { return }
    awaited.slot = nil
    post(isStarted ? "isFinished" : "isReady")
    withExtendedLifetime(tenant) {}
  }
}

/// A future's right to its slot; it ends when the future settles or is
/// released.
final class Tenancy: Sendable {
  private let slot: QueueSlot

  init(of slot: QueueSlot) { self.slot = slot }

  deinit { slot.end() }

  func end() { slot.end() }
}
