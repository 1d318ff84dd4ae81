import Foundation
import Futures

/// A workflow as the work of exactly one task.
///
/// It lives as long as the task. The inner workflow refers to it from the moment when the
/// task is added to a workflow until that workflow is released.
final class Nesting: @unchecked Sendable {
  // Sendable: everything that changes is guarded by the lock of the tree of `inner`. Once
  // there is a workflow around it, that is also the lock of the outer workflow.

  let inner: Workflow
  /// The last run of the task that acted on the inner workflow.
  ///
  /// What happens inside counts for this run.
  private(set) var begunRun: UInt32 = 0
  /// How many times the inner workflow has finished.
  private var endings: UInt32 = 0
  private var making = Making.none
  /// How many threads are about to report the state of the inner workflow to the task.
  var messengers = 0
  /// The next run retries the inner tasks that have failed or were cancelled.
  var owesRetry = false
  /// A thread is about to begin a run: it makes the input or informs observers.
  private var isBeginning = false
  /// The run that was due while another thread was still beginning the previous one.
  private var nextRun: UInt32?
  /// The task is being cancelled or reset because an inner task was.
  var isToldFromInside = false
  /// The task ended when nothing was left inside but clean-up, and no inner task was reset
  /// or retried since.
  ///
  /// The end of that clean-up does not revive the task.
  var onlyCleansUp = false
  /// The run around waits for closures that stop work inside: `State.stopping` counts them.
  var holdsUpRun = false
  /// A cancellation of all tasks of the workflow around concerns tasks inside:
  /// `State.cancellableNestings` counts it.
  var isCancellable = false

  init(_ inner: Workflow) { self.inner = inner }

  /// How far the task's result is.
  ///
  /// It is made each time that the inner workflow finishes; the number says which time.
  private enum Making {
    case none
    case due(UInt32)
    case underWay(UInt32, on: pthread_t)
    /// The closure that makes the result started the inner workflow again.
    ///
    /// The result counts all the same.
    case rerun(UInt32)
  }

  /// Notes that a run of the task acts on the inner workflow from now on.
  func begins(_ run: UInt32) { (begunRun, making, onlyCleansUp) = (run, .none, false) }

  /// Notes that the inner workflow has finished.
  ///
  /// Returns the number of that ending if a result has to be made.
  func ends() -> UInt32? {
    if case .rerun = making { return nil }
    endings &+= 1
    making = .due(endings)
    return endings
  }

  /// Notes that the calling thread makes the result for an ending.
  ///
  /// Returns `false` if that result is no longer wanted.
  func isMade(_ ending: UInt32) -> Bool {
    guard case .due(ending) = making else { return false }
    making = .underWay(ending, on: pthread_self())
    return true
  }

  /// Notes that the inner workflow runs again.
  ///
  /// A result in the making no longer counts, unless the closure that makes it started
  /// the inner workflow.
  func goesOn() {
    switch making {
    case .underWay(let ending, let maker) where pthread_equal(maker, pthread_self()) != 0:
      making = .rerun(ending)
    case .rerun: break
    case .none, .due, .underWay: making = .none
    }
  }

  /// Whether a result is being made or is due.
  var isEnding: Bool { if case .none = making { false } else { true } }

  /// Whether the result that was made for an ending still counts.
  func isStillEnding(_ ending: UInt32) -> Bool {
    switch making {
    case .due(ending), .underWay(ending, _), .rerun(ending):
      making = .due(ending)
      return true
    case .none, .due, .underWay, .rerun: return false
    }
  }

  /// Enters the beginning of a run.
  ///
  /// Returns `false` if another thread, still busy with the previous run, will do it.
  func enter(_ run: UInt32) -> Bool {
    if isBeginning { nextRun = run }
    defer { isBeginning = true }
    return !isBeginning
  }

  /// Leaves the beginning of a run.
  ///
  /// Returns the next run if this thread has to begin that one, too.
  func leave() -> UInt32? {
    isBeginning = nextRun != nil
    return nextRun.take()
  }
}

extension WorkflowCore {
  /// The task that runs a workflow, and the workflow of that task.
  ///
  /// Both exist for as long as this is stored, with the lock of the tree held: a workflow
  /// clears it when it is released. The nesting keeps the inner workflow.
  struct Owner {
    unowned(unsafe) let task: AnyWorkflowTask
    unowned(unsafe) let core: WorkflowCore
    unowned(unsafe) let nesting: Nesting

    /// With the lock held: whether the run of the workflow cannot end, because the task is
    /// active.
    var keepsRunGoing: Bool { core.state.graph[task.index].isSureToEnd }
  }

  /// The consequence of a change in one workflow for another one, inside or around it.
  enum TreeStep {
    /// To an inner workflow: its task is cancelled, reset or has timed out, and was executing
    /// or not.
    case stop(WorkflowCore, TaskMessage, wasExecuting: Bool)
    /// To an inner workflow: its task has begun.
    case start(WorkflowCore, retries: Bool)
    /// From an inner workflow: a task was cancelled, or one that had ended was reset (also
    /// because a retried task is in front of it), and not by the task around the workflow. From
    /// one with a journal also that a task which had neither finished nor been skipped was reset:
    /// `prerequisiteRunsAgain`.
    case innerTaskGot(TaskMessage, WorkflowCore)
    /// From an inner workflow: its last task has finished.
    case innerFinished(WorkflowCore)
    /// A named limit of the tree has a free permit.
    case permit(NamedLimit)
  }

  // MARK: Joining

  /// With the lock held, after the trees have been joined: checks that a task of this
  /// workflow may run another one.
  ///
  /// - Throws: If the other workflow belongs to another task, or is around this one.
  func checkNesting(
    _ nesting: Nesting, in task: AnyWorkflowTask, _ state: borrowing State
  ) throws {
    let inner = nesting.inner.core
    guard inner !== self else { throw WorkflowError.recursiveSubworkflow(task) }
    if let owner = inner.state.owner {
      throw WorkflowError.subworkflowOfAnotherTask(owner.task, task)
    }
    // The cycle check can walk outwards from this workflow or inwards from the inner one.
    // It walks both ways in step, because the shorter walk decides.
    var outwards = state.owner?.core
    var inwards = inner.state.nestings
    while let outer = outwards, let next = inwards.popLast()?.inner.core {
      if outer === inner || next === self { throw WorkflowError.recursiveSubworkflow(task) }
      outwards = outer.state.owner?.core
      inwards += next.state.nestings
    }
  }

  /// With the lock held: makes another workflow the work of a task of this one.
  func nest(_ nesting: Nesting, in task: AnyWorkflowTask, _ state: inout State) {
    let inner = nesting.inner.core
    inner.state.owner = Owner(task: task, core: self, nesting: nesting)
    state.nestings.append(nesting)
    isStopping(inside: nesting, &state)
    Self.add(state.streams, inside: [nesting])
    Self.add(state.outerStreams, inside: [nesting])
    guard let limiter = state.room.limiter else { return }
    Self.takeRoom(Self.spread(limiter, over: [nesting]), &state)
  }

  /// With the lock held: counts this workflow in the one around it while a cancellation of
  /// all tasks there concerns tasks here.
  ///
  /// A task with a rule does not pass such a cancellation on. Usually the first step is the
  /// last: a task that executes is cancellable, whatever happens inside it.
  func countAsCancellable() {
    var inner = self
    while let owner = inner.state.owner {
      // Clean-up that goes on hears that it is not to be followed by another run.
      let isCancellable =
        (inner.state.isCancellable || inner.state.graph.activeCount > 0)
        && owner.core.state.graph[owner.task.index].rule == .whenAllSucceed
      guard owner.nesting.isCancellable != isCancellable else { return }
      owner.nesting.isCancellable = isCancellable
      owner.core.state.cancellableNestings += isCancellable ? 1 : -1
      inner = owner.core
    }
  }

  /// With the lock held, while the workflow is released: separates the inner workflows
  /// from this one.
  func endNesting(_ state: inout State, _ effects: inout Effects) {
    for nesting in state.nestings {
      nesting.inner.core.state.owner = nil
      nesting.isCancellable = false
    }
    state.cancellableNestings = 0
    if state.room.limiter != nil { Self.spread(nil, over: state.nestings) }
    Self.remove(state.streams, inside: state.nestings)
    effects.garbage.append(state.nestings)
    state.nestings = []
    (state.room.maximum, state.room.isPaused, state.room.limiter) = (.max, false, nil)
    effects.clearsLine = true
  }

  // MARK: Beginning and ending

  /// How a run of a subworkflow task begins.
  enum Beginning {
    /// The run was over already, or ended now.
    case over
    /// The inner workflow has to be started.
    case starts(retries: Bool)
    /// The inner workflow is running.
    case running
    case allFinished(ending: UInt32)
    case failed(any Error)
  }

  /// Begins a run of a task that runs a workflow.
  ///
  /// - Parameter isAnnounced: Whether observers know that the inner workflow is about to
  ///   start. If not, the next call starts it.
  func beginInside(
    _ nesting: Nesting, of task: AnyWorkflowTask, run: UInt32, isAnnounced: Bool
  ) -> Beginning {
    perform { state, effects in
      guard !state.isReleased, state.graph.isExecuting(task.index, run: run) else { return .over }
      let inner = nesting.inner.core
      let owesRetry = nesting.owesRetry
      // A workflow that is empty or has not reported that it has finished is started, so
      // that it reports it.
      if inner.state.graph.unfinishedCount == 0, inner.state.graph.count > 0,
        inner.state.finishIsTold
      {
        nesting.begins(run)
        // Nothing is left to retry, and a later failure inside is a new one.
        nesting.owesRetry = false
        return nesting.ends().map { .allFinished(ending: $0) } ?? .over
      }
      if !owesRetry {
        if let failure = inner.state.earliestFailure { return .failed(failure.error) }
        if inner.state.graph.cancelledCount > 0 {
          sendAlone(.cancel, to: task, nesting, &state, &effects)
          return .over
        }
      }
      guard isAnnounced else { return .starts(retries: owesRetry) }
      nesting.begins(run)
      nesting.owesRetry = false
      // The inner tasks take room instead of the task around them.
      waits(task.index, &state, &effects)
      effects.steps.append(.start(inner, retries: owesRetry))
      return .running
    }
  }

  /// With the lock held: cancels or resets a task, but not the workflow that it runs.
  private func sendAlone(
    _ message: TaskMessage, to task: AnyWorkflowTask, _ nesting: Nesting,
    _ state: inout State, _ effects: inout Effects
  ) {
    nesting.isToldFromInside = true
    propagate(message, from: CollectionOfOne(task.index), &state, &effects)
    nesting.isToldFromInside = false
  }

  // MARK: Steps

  /// With the lock held: carries out all consequences for other workflows.
  ///
  /// No recursion: workflows may be nested deeply.
  func followSteps(_ effects: inout Effects) {
    var next = 0
    while next < effects.steps.count {
      let step = effects.steps[next]
      next += 1
      switch step {
      case .stop(let core, let message, let wasExecuting):
        effects.hasChanged(core)
        core.stop(message, wasExecuting, &core.state, &effects)
      case .start(let core, let retries):
        effects.hasChanged(core)
        core.startInside(retries: retries, &core.state, &effects)
      case .innerTaskGot(let message, let core):
        guard let owner = core.state.owner else { continue }
        effects.hasChanged(owner.core)
        owner.core.innerTaskGot(message, owner, &owner.core.state, &effects)
      case .innerFinished(let core):
        guard let owner = core.state.owner else { continue }
        effects.hasChanged(owner.core)
        owner.core.innerHasFinished(owner, &owner.core.state, &effects)
      case .permit(let limit):
        offerPermits(limit, &effects)
      }
    }
    effects.steps.removeAll()
  }

  private func stop(
    _ message: TaskMessage, _ wasExecuting: Bool, _ state: inout State, _ effects: inout Effects
  ) {
    if message == .cancel {
      announceLater(.workflowWillCancel, as: .workflowWillCancel, &state)
    } else {
      announceLater(.workflowWillReset, as: .workflowWillReset, &state)
    }
    propagateFromOutside(message, goesOn: wasExecuting, &state, &effects)
    state.owner?.nesting.onlyCleansUp =
      message == .cancel && state.graph.unfinishedCount > 0 && !state.graph.hasUnsuccessful
  }

  private func startInside(retries: Bool, _ state: inout State, _ effects: inout Effects) {
    expect(nil, &state, &effects)
    if retries { propagateFromOutside(.retry, &state, &effects) }
    startAll(&state, &effects)
  }

  private func innerTaskGot(
    _ message: TaskMessage, _ owner: Owner, _ state: inout State, _ effects: inout Effects
  ) {
    let node = state.graph[owner.task.index]
    if message == .cancel {
      // A run that has not acted on the inner workflow yet will find the cancelled task
      // itself.
      guard node.state.transition(on: .cancel, verdict: .runs) != nil,
        node.state != .executing || node.run == owner.nesting.begunRun
      else { return }
    } else {
      // An executing task hears of it when the inner workflow has finished again. A task
      // whose result is being recorded already has that result.
      let isRecording = node.flags.contains(.isRecording)
      if message != .prerequisiteRunsAgain, node.state == .executing, !isRecording {
        owner.nesting.goesOn()
        // The inner tasks take room instead of a task that made its result.
        if !owner.nesting.isEnding, node.run == owner.nesting.begunRun {
          waits(owner.task.index, &state, &effects)
        }
      }
      guard node.state == .finished || isRecording else {
        // Restored tasks stay finished behind one that is retried.
        if message == .retry { return }
        return resetRestored(behind: owner, hasReset: message == .reset, &state, &effects)
      }
      // A task that has its result keeps it: no task inside has lost one.
      if message == .prerequisiteRunsAgain { return }
    }
    sendAlone(
      message == .retry ? .reset : message, to: owner.task, owner.nesting, &state, &effects)
  }

  /// With the lock held: resets what is restored behind a task that has no result, after a task
  /// inside it was reset.
  ///
  /// Only a journal restores tasks behind one that has no result. They may be behind any task
  /// around, so the message goes outwards as far as there is a journal. Other tasks stay as they
  /// are: clean-up may run behind a task that has failed or was cancelled, and goes on.
  ///
  /// - Parameter hasReset: Whether a task inside has lost a result or was skipped.
  private func resetRestored(
    behind owner: Owner, hasReset: Bool, _ state: inout State, _ effects: inout Effects
  ) {
    guard let writer = state.journal?.writer else { return }
    // Nothing is searched if no restored result is left: a program may reset many tasks, one by
    // one. A workflow behind may have brought its own journal along.
    let mayBeRestored =
      writer.hasRestored
      || state.nestings.contains { nesting in
        nesting.inner.core.state.journal.map { $0.writer !== writer } ?? false
      }
    let restored =
      mayBeRestored
      ? state.graph.restored(behind: owner.task.index) : (tasks: [], workflows: [])
    for task in restored.workflows {
      let now = state.graph[task].state
      state.tasks[Int(task)].hears(.reset, changedFrom: nil, to: now, &effects)
    }
    // One step follows, also if no dependent changes, and never two: the number of steps would
    // double with each workflow around.
    let resetsMore =
      !restored.tasks.isEmpty
      && propagate(.reset, from: restored.tasks, isFromOutside: true, &state, &effects)
    guard state.owner != nil else { return }
    effects.steps.append(
      .innerTaskGot(hasReset || resetsMore ? .reset : .prerequisiteRunsAgain, self))
  }

  private func innerHasFinished(_ owner: Owner, _ state: inout State, _ effects: inout Effects) {
    let (task, run) = (owner.task, owner.nesting.begunRun)
    switch state.graph[task.index].state {
    case .executing where state.graph[task.index].run == run:
      guard let ending = owner.nesting.ends() else { return }
      effects.passedOn.append { task.innerHasFinished(run: run, ending: ending) }
    case .failed, .cancelled:
      if owner.nesting.onlyCleansUp { break }
      // A task inside that finished later revives the task around it, which then finds
      // that all inner tasks have finished.
      propagate(.retry, from: CollectionOfOne(task.index), &state, &effects)
    case .pending, .ready, .executing, .finished, .skipped:
      break
    }
  }

  /// With the lock held: fails the task around the workflow after one inside has failed.
  ///
  /// That happens after unlock, because the outer task's retry policy is user code.
  func tellOwner(
    ofFailed index: TaskIndex, with error: any Error, _ state: inout State,
    _ effects: inout Effects
  ) {
    guard let owner = state.owner else { return }
    let (task, run) = (owner.task, owner.nesting.begunRun)
    guard owner.core.state.graph.isExecuting(task.index, run: run) else { return }
    sendMessenger(to: owner, &effects) { [self] outer in
      // Only if the inner task has not been reset or retried meanwhile.
      outer.fail(task, run: run, with: error) { _ in self.state.graph[index].state == .failed }
    }
  }

  /// With the lock held: after unlock, reports to the workflow around this one.
  ///
  /// The report may come too late to have an effect. Afterwards the state of this
  /// workflow is checked again, and another report may follow.
  private func sendMessenger(
    to owner: Owner, _ effects: inout Effects, _ tell: @escaping (_ outer: WorkflowCore) -> Void
  ) {
    let nesting = owner.nesting
    nesting.messengers += 1
    effects.passedOn.append { [self, outer = owner.core] in
      tell(outer)
      perform { _, _ in nesting.messengers -= 1 }
    }
  }

  /// With the lock held: keeps the task around a workflow active while the workflow is,
  /// and while the workflow is only about to report its end.
  func tellOwnerOfRest(_ effects: inout Effects) {
    guard let owner = state.owner else { return }
    let (index, outer) = (owner.task.index, owner.core)
    let run = owner.nesting.begunRun
    // A task whose result is being made stays active.
    guard outer.state.graph.isExecuting(index, run: run), !owner.nesting.isEnding else { return }
    if restsBadly { return tellOwnerOfBadRest(owner, run, &effects) }
    // So does a task with a timeout.
    guard outer.state.extras.isEmpty || outer.state.extras[index]?.timer == nil else { return }
    let isStuck = isStuck
    guard isStuck != outer.state.graph[index].flags.contains(.isAbandoned) else { return }
    outer.state.graph.setAbandoned(index, isStuck)
    if isStuck { outer.isStopping(inside: owner.nesting, &outer.state) }
    effects.hasChanged(outer)
  }

  /// With the lock held: whether the workflow is quiescent and unfinished, without any
  /// failure or cancellation.
  var isStuck: Bool {
    state.graph.activeCount == 0 && state.graph.unfinishedCount > 0
      && !state.graph.hasUnsuccessful
  }

  /// With the lock held: whether the workflow is quiescent after a failure or
  /// cancellation.
  private var restsBadly: Bool { state.graph.activeCount == 0 && state.graph.hasUnsuccessful }

  /// With the lock held: ends the task around a workflow that is quiescent after a
  /// failure or cancellation.
  ///
  /// Usually that task has ended already, when the first inner task failed or was
  /// cancelled. It has not if that inner task was retried before the report arrived,
  /// while others that were cancelled with it were not retried.
  private func tellOwnerOfBadRest(_ owner: Owner, _ run: UInt32, _ effects: inout Effects) {
    guard owner.nesting.messengers == 0 else { return }
    let (task, nesting) = (owner.task, owner.nesting)
    sendMessenger(to: owner, &effects) { [self] outer in
      let error = outer.perform { state, effects -> (any Error)? in
        guard !state.isReleased, restsBadly,
          state.graph.isExecuting(task.index, run: run), nesting.begunRun == run
        else { return nil }
        if let failure = self.state.earliestFailure { return failure.error }
        outer.sendAlone(.cancel, to: task, nesting, &state, &effects)
        return nil
      }
      if let error { outer.fail(task, run: run, with: error) { _ in restsBadly } }
    }
  }
}
