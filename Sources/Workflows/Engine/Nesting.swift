import Foundation
import Futures

/// A workflow as the work of a task, which belongs to that task alone.
///
/// It lives as long as the task. The inner workflow knows it from the moment when the
/// task is added to a workflow, until that one is released.
final class Nesting: @unchecked Sendable {
  // Sendable: what can change is guarded by the lock of the tree of `inner`, which is
  // also that of the workflow around it once there is one.

  let inner: Workflow
  /// The last run of the task that has started the inner workflow: what happens inside
  /// is its doing.
  private(set) var begunRun: UInt32 = 0
  /// How many times the inner workflow has come to its end.
  private var endings: UInt32 = 0
  private var making = Making.none
  /// How many threads are about to tell the task how the inner workflow stands.
  var messengers = 0
  /// The next run retries what it finds failed or cancelled.
  var owesRetry = false
  /// A thread is about to begin a run: it makes the input, or tells observers.
  private var isBeginning = false
  /// The run that has come to its turn meanwhile.
  private var nextRun: UInt32?
  /// The task is being cancelled or reset because an inner task was.
  var isToldFromInside = false

  init(_ inner: Workflow) { self.inner = inner }

  /// How far the task's result is, which is made of what the inner workflow has finished
  /// with: with which time that was.
  private enum Making {
    case none
    case due(UInt32)
    case underWay(UInt32, on: pthread_t)
    /// What makes it has had the inner workflow go on: the result counts all the same.
    case rerun(UInt32)
  }

  /// A run of the task begins to act on the inner workflow.
  func begins(_ run: UInt32) { (begunRun, making) = (run, .none) }

  /// The inner workflow has finished; returns which time it is, if a result is to be made.
  func ends() -> UInt32? {
    if case .rerun = making { return nil }
    endings &+= 1
    making = .due(endings)
    return endings
  }

  /// The calling thread makes the result, for which the inner workflow has ended.
  func isMade(_ ending: UInt32) {
    if case .due(ending) = making { making = .underWay(ending, on: pthread_self()) }
  }

  /// The inner workflow goes on after all, so what is being made of it does not count.
  ///
  /// (It does if what makes it has the inner workflow go on.)
  func goesOn() {
    switch making {
    case .underWay(let ending, let maker) where pthread_equal(maker, pthread_self()) != 0:
      making = .rerun(ending)
    case .rerun: break
    case .none, .due, .underWay: making = .none
    }
  }

  /// Whether a result is being made, or is to be.
  var isEnding: Bool { if case .none = making { false } else { true } }

  /// Whether a result counts that was made when the inner workflow had finished.
  func isStillEnding(_ ending: UInt32) -> Bool {
    switch making {
    case .due(ending), .underWay(ending, _), .rerun(ending):
      making = .due(ending)
      return true
    case .none, .due, .underWay, .rerun: return false
    }
  }

  /// A thread has come to begin a run; `false` if another thread will do it, which is not
  /// done with the run before.
  func enter(_ run: UInt32) -> Bool {
    if isBeginning { nextRun = run }
    defer { isBeginning = true }
    return !isBeginning
  }

  /// The thread is done with a run; the next one is for it, too.
  func leave() -> UInt32? {
    isBeginning = nextRun != nil
    return nextRun.take()
  }
}

extension WorkflowCore {
  /// The task whose work a workflow is, and the workflow around that.
  ///
  /// Both exist for as long as this is noted, with the lock of the tree held: a workflow
  /// that is released takes the note away. An inner workflow is kept by its nesting.
  struct Owner {
    unowned(unsafe) let task: AnyWorkflowTask
    unowned(unsafe) let core: WorkflowCore
    unowned(unsafe) let nesting: Nesting
  }

  /// What a change of one workflow means for another one, inside or around it.
  enum TreeStep {
    /// To a workflow: the task around it is cancelled, has run out of time or is reset.
    case stop(WorkflowCore, TaskMessage)
    /// To a workflow: the task around it has begun.
    case start(WorkflowCore, retries: Bool)
    /// From a workflow: a task inside was cancelled, or one that had ended was reset, and
    /// not by the task around it.
    case innerTaskGot(TaskMessage, WorkflowCore)
    /// From a workflow: its last task has finished.
    case innerFinished(WorkflowCore)
    /// A limit for tasks of the tree has a permit again.
    case permit(NamedLimit)
  }

  // MARK: Joining

  /// With the lock held, when the trees have been joined: whether a task of this workflow
  /// may run another one.
  ///
  /// - Throws: If the other one belongs to another task, or is around this one.
  func checkNesting(
    _ nesting: Nesting, in task: AnyWorkflowTask, _ state: borrowing State
  ) throws {
    let inner = nesting.inner.core
    guard inner !== self else { throw WorkflowError.recursiveSubworkflow(task) }
    if let owner = inner.state.owner {
      throw WorkflowError.subworkflowOfAnotherTask(owner.task, task)
    }
    // Two ways lead from what is inside to what is around it. They are walked side by
    // side, because the shorter one says it all.
    var outwards = state.owner?.core
    var inwards = inner.state.nestings
    while let outer = outwards, let next = inwards.popLast()?.inner.core {
      if outer === inner || next === self { throw WorkflowError.recursiveSubworkflow(task) }
      outwards = outer.state.owner?.core
      inwards += next.state.nestings
    }
  }

  /// With the lock held: a task of this workflow runs another one from now on.
  func nest(_ nesting: Nesting, in task: AnyWorkflowTask, _ state: inout State) {
    let inner = nesting.inner.core
    inner.state.owner = Owner(task: task, core: self, nesting: nesting)
    state.nestings.append(nesting)
    Self.add(state.streams, inside: [nesting])
    Self.add(state.outerStreams, inside: [nesting])
    guard let limiter = state.room.limiter else { return }
    Self.takeRoom(Self.spread(limiter, over: [nesting]), &state)
  }

  /// With the lock held: the workflow is being released, and those inside are not inside
  /// any more.
  func endNesting(_ state: inout State, _ effects: inout Effects) {
    for nesting in state.nestings { nesting.inner.core.state.owner = nil }
    if state.room.limiter != nil { Self.spread(nil, over: state.nestings) }
    Self.remove(state.streams, inside: state.nestings)
    effects.garbage.append(state.nestings)
    state.nestings = []
    (state.room.maximum, state.room.isPaused, state.room.limiter) = (.max, false, nil)
    effects.clearsLine = true
  }

  // MARK: Beginning and ending

  /// How a run of a task begins whose work is a workflow.
  enum Beginning {
    /// It was over already, or ended with this.
    case over
    /// The inner workflow is to be started.
    case starts(retries: Bool)
    /// The inner workflow goes on.
    case running
    case allFinished(ending: UInt32)
    case failed(any Error)
  }

  /// A task that runs a workflow has come to its turn.
  ///
  /// - Parameter isAnnounced: Whether observers know that the inner workflow is about to
  ///   start. If not, a start is left to the next call.
  func beginInside(
    _ nesting: Nesting, of task: AnyWorkflowTask, run: UInt32, isAnnounced: Bool
  ) -> Beginning {
    perform { state, effects in
      guard !state.isReleased, state.graph.isExecuting(task.index, run: run) else { return .over }
      let inner = nesting.inner.core
      let owesRetry = nesting.owesRetry
      // (An empty one is started, so that it says that it has finished.)
      if inner.state.graph.unfinishedCount == 0, inner.state.graph.count > 0 {
        nesting.begins(run)
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
      // The tasks inside take room, not the one around them.
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

  /// With the lock held: deals with all that a change means for other workflows.
  ///
  /// No recursion: workflows may be nested deeply.
  func followSteps(_ effects: inout Effects) {
    var next = 0
    while next < effects.steps.count {
      let step = effects.steps[next]
      next += 1
      switch step {
      case .stop(let core, let message):
        effects.hasChanged(core)
        core.stop(message, &core.state, &effects)
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

  private func stop(_ message: TaskMessage, _ state: inout State, _ effects: inout Effects) {
    if message == .cancel {
      announceLater(.workflowWillCancel, as: .workflowWillCancel, &state)
    } else {
      announceLater(.workflowWillReset, as: .workflowWillReset, &state)
    }
    propagateFromOutside(message, &state, &effects)
  }

  private func startInside(retries: Bool, _ state: inout State, _ effects: inout Effects) {
    if retries { propagateFromOutside(.retry, &state, &effects) }
    expect(nil, &state, &effects)
    startAll(&state, &effects)
  }

  private func innerTaskGot(
    _ message: TaskMessage, _ owner: Owner, _ state: inout State, _ effects: inout Effects
  ) {
    let node = state.graph[owner.task.index]
    if message == .cancel {
      // (A run that has not looked inside yet will see for itself.)
      guard node.state.transition(on: .cancel, verdict: .runs) != nil,
        node.state != .executing || node.run == owner.nesting.begunRun
      else { return }
    } else {
      // (A task that executes is told when the inner workflow has come to its end again.
      // One whose result is being recorded has that result.)
      let isRecording = node.flags.contains(.isRecording)
      if node.state == .executing, !isRecording { owner.nesting.goesOn() }
      guard node.state == .finished || isRecording else { return }
    }
    sendAlone(message, to: owner.task, owner.nesting, &state, &effects)
  }

  private func innerHasFinished(_ owner: Owner, _ state: inout State, _ effects: inout Effects) {
    let (task, run) = (owner.task, owner.nesting.begunRun)
    switch state.graph[task.index].state {
    case .executing where state.graph[task.index].run == run:
      guard let ending = owner.nesting.ends() else { return }
      effects.passedOn.append { task.innerHasFinished(run: run, ending: ending) }
    case .failed, .cancelled:
      // What was finished since revives it; it then finds all done.
      propagate(.retry, from: CollectionOfOne(task.index), &state, &effects)
    case .pending, .ready, .executing, .finished, .skipped:
      break
    }
  }

  /// With the lock held: a task has failed; so does the task around the workflow, once
  /// the lock is free, for its retry policy has a say in that.
  func tellOwner(
    ofFailed index: TaskIndex, with error: any Error, _ state: inout State,
    _ effects: inout Effects
  ) {
    guard let owner = state.owner else { return }
    let (task, run) = (owner.task, owner.nesting.begunRun)
    guard owner.core.state.graph.isExecuting(task.index, run: run) else { return }
    sendMessenger(to: owner, &effects) { [self] outer in
      // (Not if the task inside was reset or retried meanwhile.)
      outer.fail(task, run: run, with: error) { self.state.graph[index].state == .failed }
    }
  }

  /// With the lock held: has the workflow around this one told something, once the lock
  /// is free.
  ///
  /// Perhaps in vain: afterwards a look at how this one stands may send another messenger.
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

  /// With the lock held: the task around a workflow goes on by itself if that does, and
  /// if it rests only for a moment, because its end has yet to be told.
  func tellOwnerOfRest(_ effects: inout Effects) {
    guard let owner = state.owner else { return }
    let (index, outer) = (owner.task.index, owner.core)
    let run = owner.nesting.begunRun
    // (A task that is about to end goes on by itself.)
    guard outer.state.graph.isExecuting(index, run: run), !owner.nesting.isEnding else { return }
    if restsBadly { return tellOwnerOfBadRest(owner, run, &effects) }
    // (So does one that has an alarm.)
    guard outer.state.extras.isEmpty || outer.state.extras[index]?.timer == nil else { return }
    let isStuck = isStuck
    guard isStuck != outer.state.graph[index].flags.contains(.isAbandoned) else { return }
    outer.state.graph.setAbandoned(index, isStuck)
    effects.hasChanged(outer)
  }

  /// With the lock held: whether nothing goes on, and no failure or cancellation is why.
  var isStuck: Bool {
    state.graph.activeCount == 0 && state.graph.unfinishedCount > 0
      && state.graph.failedCount == 0 && state.graph.cancelledCount == 0
  }

  /// With the lock held: whether nothing goes on, and something has failed or was
  /// cancelled.
  private var restsBadly: Bool {
    let graph = state.graph
    return graph.activeCount == 0 && (graph.failedCount > 0 || graph.cancelledCount > 0)
  }

  /// With the lock held: the task around a workflow that rests badly ends likewise.
  ///
  /// It has heard of it already, as a rule, when the first task inside failed or was
  /// cancelled. Not if that task was retried before it heard, and others that were
  /// cancelled with it were not.
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
      if let error { outer.fail(task, run: run, with: error) { restsBadly } }
    }
  }
}
