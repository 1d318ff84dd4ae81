import Foundation
import Futures
import Synchronization

// Barriers, and what concerns everything that is in the queue.

extension TaskQueue {
  // (Overrides cannot stand in an extension: these are called by them.)

  /// Counts an operation that is no task off its epoch when it has finished.
  final func countOff(_ operation: Operation, in epoch: Int) {
    _ = OperationObserver(of: operation) { [self] in
      goOn(with: state.withLock { $0.leave(epoch: epoch) })
    }
  }

  final func addBarrier(_ block: @escaping @Sendable () -> Void) {
    // Operations of Foundation's kind are not members: those that are here now
    // are counted by observing them.
    let raw = operations.filter { !($0 is Slot) && !$0.isFinished }
    let (epoch, next) = state.withLock { state in
      hasBarrier.store(true, ordering: .releasing)
      let place = state.epochs.count - 1
      state.epochs[place].barrier = BlockOperation(block: block)
      state.epochs[place].pending += raw.count + 1
      state.epochs.append(Epoch())
      return (state.firstEpoch + place, state.leave(epoch: state.firstEpoch + place))
    }
    for operation in raw { countOff(operation, in: epoch) }
    goOn(with: next)
  }

  /// Runs a barrier in a slot; what is behind it goes on when it has finished,
  /// whether its block has run or it was cancelled before.
  private final func runBarrier(_ barrier: BlockOperation) {
    _ = OperationObserver(of: barrier) { [self] in goOn(with: endEpoch()) }
    addNow(barrier)
  }

  /// Lets the epoch behind the first barrier begin; after unlock.
  private final func endEpoch() -> Next {
    let (ended, held, next) = state.withLock { state in
      // (Released after unlock, with the barrier's block.)
      let ended = state.epochs.removeFirst()
      state.firstEpoch += 1
      if state.epochs.count == 1 { hasBarrier.store(false, ordering: .releasing) }
      let held = state.epochs[0].held
      state.epochs[0].held = []
      return (ended, held, state.takeNext())
    }
    withExtendedLifetime(ended) {}
    for one in held {
      switch one {
      case .task(let job, let core): admit(job, core: core)
      case .operation(let operation): addNow(operation)
      }
    }
    return next
  }

  /// Does what the end of something in the queue has made possible; after
  /// unlock.
  final func goOn(with next: Next) {
    var next = next
    while true {
      for waiter in next.idleWaiters { waiter.signal() }
      guard let barrier = next.barrier else { return }
      // One that was cancelled needs no slot. (Many may follow one another.)
      guard barrier.isCancelled else { return runBarrier(barrier) }
      next = endEpoch()
    }
  }

  /// Blocks until nothing is left; see the two overrides.
  final func waitUntilIdle() {
    WorkLoop.current.flush()
    while true {
      let waiter = BlockingSemaphore(value: 0)
      let isIdle = state.withLock { state in
        if state.isIdle { return true }
        state.idleWaiters.append(waiter)
        return false
      }
      if !isIdle {
        waiter.wait()
        continue
      }
      // What is no task; and slots whose work has not returned. (A slot that
      // waits to be started in a suspended queue has lost its task.)
      let operations = operations.filter { operation in
        guard !operation.isFinished else { return false }
        return !(operation is Slot) || operation.isExecuting
      }
      if operations.isEmpty { return }
      for operation in operations { operation.waitUntilFinished() }
    }
  }

  final func cancelEverything() {
    let (members, held, barriers) = state.withLock { state in
      (
        state.members.compactMap { $0 }, state.epochs.flatMap(\.held),
        state.epochs.compactMap(\.barrier)
      )
    }
    // First, or the end of the tasks in front of them would let them begin.
    for barrier in barriers { barrier.cancel() }
    // Those that execute come last: their end would let others begin.
    for member in members where member.taskCore?.phase != .executing { member.cancel() }
    for member in members { member.cancel() }
    for case .operation(let operation) in held { operation.cancel() }
    for operation in operations where !(operation is Slot) { operation.cancel() }
  }
}
