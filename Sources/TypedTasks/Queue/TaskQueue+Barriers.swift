import Foundation
import Futures

// Barriers, and calls that concern everything in the queue.

extension TaskQueue {
  // The overrides call these methods: overrides cannot be in an extension.

  package final func addBarrier(_ barrier: Operation) {
    let hadGroupEnded = owner?.ownerTask?.isSettled == true
    owner?.willAdd(barrier: barrier)
    let next = state.withLock { state in
      let place = state.epochs.count - 1
      state.epochs[place].barrier = barrier
      state.epochs.append(Epoch())
      return state.takeNext()
    }
    // A shut-down, or a group that was cancelled or has ended, just before has not found the
    // barrier.
    if ShutDownQueues.phase(of: self) == .over { barrier.cancel() }
    if let group = owner?.ownerTask, group.isCancelled || (group.isSettled && !hadGroupEnded) {
      barrier.cancel()
    }
    goOn(with: next)
  }

  /// Keeps barriers from running until the members of a group are in the queue.
  final func awaitMembers() { state.withLock { $0.awaitsMembers = true } }

  /// All members of a group are in the queue, or will never be.
  final func hasMembers() {
    goOn(
      with: state.withLock { state in
        state.awaitsMembers = false
        return state.takeNext()
      })
  }

  /// Runs a barrier in a slot.
  ///
  /// Everything behind the barrier continues when the barrier has finished, whether it
  /// has done its work or was cancelled before.
  private final func runBarrier(_ barrier: Operation) {
    _ = OperationObserver(of: barrier) { [self] in goOn(with: endEpoch()) }
    addNow(barrier)
  }

  /// Lets the epoch behind the first barrier begin; called after unlock.
  private final func endEpoch() -> Next {
    // Released after unlock, with the barrier's block.
    let ended = state.withLock { state in
      state.firstEpoch += 1
      state.isOpening = true
      return state.epochs.removeFirst()
    }
    var last: [Operation] = []
    // No handler runs before all is let go: it could wait for what is held back meanwhile.
    WorkLoop.current.perform { _ in
      var held = state.withLock { $0.takeAllHeld() }
      while !held.pending.isEmpty {
        for operation in held.pending { letGo(operation) }
        last += held.all
        held = state.withLock { $0.takeAllHeld() }
      }
      last += held.all
    }
    withExtendedLifetime((ended, last)) {}
    return state.withLock { $0.takeNext() }
  }

  /// Lets a task or an operation continue that a barrier has held back.
  private final func letGo(_ operation: Operation) {
    if let task = operation as? AnyFuture, let core = task.taskCore {
      core.unblock(task)
    } else {
      slots.add()
      addNow(operation)
    }
  }

  /// Does what the end of a task or an operation has made possible; called after unlock.
  final func goOn(with next: Next) {
    var next = next
    while true {
      for body in next.whenIdle { body() }
      guard let barrier = next.barrier else { return }
      // A cancelled barrier needs no slot. This is a loop because many barriers may
      // follow one another.
      guard barrier.isCancelled else { return runBarrier(barrier) }
      // The barrier finishes and does none of its work.
      if let placeholder = barrier as? PlaceholderOperation {
        placeholder.finishUnstarted()
      } else {
        barrier.start()
      }
      next = endEpoch()
    }
  }

  /// Blocks until the queue is idle; see the two overrides.
  final func waitUntilIdle() {
    WorkLoop.current.flush()
    let idle = BlockingSemaphore(value: 0)
    whenIdle { idle.signal() }
    idle.wait()
  }

  /// Calls a closure when the queue is idle.
  final func whenIdle(_ body: @escaping @Sendable () -> Void) {
    let isIdle = state.withLock { state in
      if !state.isIdle { state.whenIdle.append(body) }
      return state.isIdle
    }
    if isIdle { body() }
  }

  /// Cancels everything in the queue, apart from some operations.
  package final func cancelEverything(except isSpared: (Operation) -> Bool = { _ in false }) {
    let (members, later, barriers, operations) = state.withLock { state in
      (
        state.members.compactMap { $0 }, Array(state.later.values),
        state.epochs.barriers, state.operations.values.map(\.operation)
      )
    }
    WorkLoop.current.beforeHandlers {
      // First: otherwise the end of the tasks in front of the barriers would let these
      // begin.
      for barrier in barriers where !isSpared(barrier) { barrier.cancel() }
      for task in later { task.cancel() }
      // The executing tasks come last: their end would let other tasks begin.
      let unspared = members.filter { !isSpared($0) }
      for member in unspared where member.taskCore?.phase != .executing { member.cancel() }
      for member in unspared { member.cancel() }
      for operation in operations where !isSpared(operation) { operation.cancel() }
    }
  }
}
