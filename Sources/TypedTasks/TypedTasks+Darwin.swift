import Foundation
import Futures

// The part of this module that differs between Apple's platforms and Linux: a typed task
// in an operation queue that is not a `TaskQueue`. Each branch names the page of Apple's
// documentation whose contract it fulfills, and states the contract in our own words. All
// branches are built on Linux, too; see `Futures+Darwin.swift`.

#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN

  extension TaskStateMachine {
    /// What an observer of the task as an operation sees, as far as the machine decides it.
    fileprivate var visible: OperationKeys {
      var keys: OperationKeys = isCancelRequested ? .isCancelled : []
      switch phase {
      case .created, .ready: keys.insert(.isReady)
      case .executing: keys.formUnion([.isReady, .isExecuting])
      case .waiting, .checking, .queueing, .ended: break
      }
      return keys
    }
  }

  extension TaskCore {
    /// Announces what an event is going to change.
    ///
    /// "NSObject.willChangeValue(forKey:)": see `Operation.willChange(_:)`. A copy of the
    /// machine tells before the event what the event does. A task that has settled changes
    /// nothing any more.
    final func willChange(
      _ task: AnyFuture, by event: (inout TaskStateMachine) -> Void
    ) -> OperationKeys {
      guard !task.isSettled else { return [] }
      let keys: OperationKeys = state.withLock { state in
        var copy = state.machine
        event(&copy)
        return copy.visible.symmetricDifference(state.machine.visible)
      }
      task.willChange(keys)
      return keys
    }

    /// Passes the machine an event, and announces what it changes.
    ///
    /// - Parameter rest: What belongs to the event; called under the same lock.
    final func change<Action, Outcome>(
      _ task: AnyFuture, _ event: (inout TaskStateMachine) -> Action,
      _ rest: (inout State, Action) -> Outcome
    ) -> Outcome {
      let keys = willChange(task) { _ = event(&$0) }
      defer { task.didChange(keys) }
      return state.withLock { state in
        let action = event(&state.machine)
        return rest(&state, action)
      }
    }

    /// An operation queue is about to take the task.
    ///
    /// "OperationQueue.addOperation(_:)": the queue calls `start()` when the operation is
    /// ready, and the operation takes a slot from then on. So a task whose queue is known
    /// waits before it is ready.
    @usableFromInline
    final func willBeAdded(_ task: AnyFuture, to queue: OperationQueue) {
      // Also a task that another queue runs finishes when this queue has started it.
      task.noteEnqueued()
      guard phase == .created else { return }
      note(foreignQueue: queue)
      adopt(task)
    }

    /// Puts the task in a queue, with a placeholder operation that becomes ready with the
    /// task.
    ///
    /// See `AnyFuture.takePlace(in:)`.
    final func put(_ task: AnyFuture, in queue: OperationQueue) -> Bool {
      task.takePlace(in: queue)
      adopt(task)
      if phase == .ready { task.placeBecomesReady() }
      return true
    }

    /// Whether a queue that has the task may start it, although the task does not know
    /// the queue.
    ///
    /// "Operation.isReady": `true` means that the operation may execute now, with regard
    /// to its dependencies too. Nothing tells whether the reader is a queue that takes
    /// the task, so a read enqueues nothing. A queue that has the task starts it when its
    /// dependencies have finished; in the slot the task waits for its conditions only.
    final func isReadyBeforeEnqueuing(_ task: AnyFuture) -> Bool {
      let isPosted = WorkLoop.isPosting(task)
      if !isPosted { task.mayBeEnqueued() }
      guard let dependency = firstPendingDependency(of: task) else { return true }
      if isPosted { return false }
      let isNew = state.withLock { state in
        defer { state.announcesDependencies = true }
        return !state.announcesDependencies
      }
      if isNew { announceReadiness(of: task, after: dependency) }
      return false
    }

    /// Posts a change of `isReady` when the dependencies have finished.
    ///
    /// "Operation", "Responding to the Dependency": an operation posts the change also
    /// for dependencies that it keeps by itself.
    private final func announceReadiness(of task: AnyFuture, after dependency: Operation) {
      let goOn: @Sendable () -> Void = { [weak task] in
        guard let task, let core = task.taskCore, core.phase == .created else { return }
        guard let next = core.firstPendingDependency(of: task) else {
          core.state.withLock { $0.announcesDependencies = false }
          return task.post(.isReady)
        }
        core.announceReadiness(of: task, after: next)
      }
      guard let future = dependency as? AnyFuture else {
        _ = OperationObserver(of: dependency, goOn)
        return
      }
      if !future.watch(.finished, { _ in goOn() }) { goOn() }
    }

    private final func firstPendingDependency(of task: AnyFuture) -> Operation? {
      dependencies.first { !$0.isFinished }
    }

    /// Nothing tells whether another queue has the task.
    ///
    /// "OperationQueue.addOperation(_:)": an operation must not be in two queues; which
    /// queue has it, if any, no property of `Operation` says.
    final func mayBeInQueue(_ task: AnyFuture) -> Bool { false }

    /// Nothing tells whether a second queue has the task.
    ///
    /// "OperationQueue.addOperation(_:)": adding an operation that is in another queue
    /// throws. So a second queue can only be a mistake of the caller.
    final func isTakenBySecondQueue(_ task: AnyFuture) -> Bool { false }

    /// "OperationQueue.current": the queue that runs the operation which makes the call.
    final func isBeingStarted(_ task: AnyFuture) -> Bool { OperationQueue.current != nil }

    /// The task has a slot of its queue only when it is ready.
    ///
    /// "Operation.isReady": the queue starts an operation, here the task's placeholder, only
    /// when the property is `true`.
    final func placeBecomesReady(_ task: AnyFuture) { task.placeBecomesReady() }

    /// A task queue has the task, so no other queue has it.
    ///
    /// "OperationQueue.addOperation(_:)": an operation is in at most one queue, and adding
    /// it to a second one is an error.
    @inline(__always)
    final func hasJoinedTaskQueue(_ task: AnyFuture) { task.belongsToTaskQueue() }
  }

#endif
