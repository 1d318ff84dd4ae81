import Foundation
import Futures

/// A task whose work is a whole workflow.
///
/// ```swift
/// let filter = SubworkflowTask(name: "filter", subworkflow: filterWorkflow)
/// try workflow.add(filter, prerequisites: image)
/// ```
///
/// When its turn comes it starts the inner workflow. It finishes when that has,
/// fails with the error of the inner task that fails first
/// (``AnyWorkflowTask/failurePath`` says which that is), and is cancelled
/// when an inner task is; the other inner tasks go on. If the inner workflow
/// had ended before, it ends likewise at once: failed wins over cancelled, the
/// earliest error over later ones. So an inner task that has failed before makes
/// the task fail at once, although others inside could run; reset or retry the inner
/// workflow to have it begin anew.
///
/// Cancelling the task cancels the inner workflow; resetting it resets that.
/// Retrying it retries what has failed or was cancelled inside, but not before
/// its own prerequisites have finished. If the inner workflow is brought to its
/// end by other means after the task has failed or was cancelled (an inner task
/// is retried, an external condition is fulfilled), the task finishes too. If
/// the inner workflow comes to rest stuck, with nobody left to end a task of it,
/// the outer one does not wait for it either and is stuck itself.
///
/// In the outer workflow's ``Workflow/progress`` the task counts as far as the inner
/// workflow has finished.
///
/// ## Results in and out
///
/// The result is the inner workflow itself, or what `output` makes of it.
/// `input` is called before the inner workflow starts; it can fulfil external
/// conditions inside with results from outside.
public final class SubworkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: the closures never change; the mailbox is guarded by the lock of
  // the workflow that the task is in; the rest is atomic.

  /// The inner workflow.
  public let subworkflow: Workflow
  private let input: (@Sendable (TaskWork<Output>) throws -> Void)?
  private let output: @Sendable (Workflow) throws -> Output

  private var mailbox = SubworkflowMailbox()
  /// A stop has been written since the inner workflow was last about to be started.
  private let isStopped = Atomic(false)
  private let observation = Atomic<Int>(0)

  /// Makes a task of a workflow.
  ///
  /// - Parameters:
  ///   - name: A name for people; the workflow's by default.
  ///   - subworkflow: The workflow; it must not contain the one to which the
  ///     task is added.
  ///   - input: Called before the inner workflow starts; what it throws fails
  ///     the task.
  ///   - output: Makes the result of the finished workflow; what it throws
  ///     fails the task.
  public init(
    name: String? = nil, subworkflow: Workflow,
    input: (@Sendable (_ task: TaskWork<Output>) throws -> Void)? = nil,
    output: @escaping @Sendable (_ subworkflow: Workflow) throws -> Output
  ) {
    self.subworkflow = subworkflow
    self.input = input
    self.output = output
    super.init(name: name ?? subworkflow.name, hasHooks: false)
    let number = subworkflow.core.observe { [weak self] news in self?.innerNews(news) }
    observation.store(number, ordering: .releasing)
  }

  deinit { subworkflow.core.stopObserving(observation.load(ordering: .acquiring)) }

  // MARK: Letters

  /// Starts the inner workflow, or ends as that has ended.
  public override func main() {
    guard let run = currentRun else { return }
    send(.run(run))
  }

  private func send(_ letter: SubworkflowMailbox.Letter) {
    guard let core else { return }
    core.change { _ in mailbox.put(letter) }
    WorkflowThread.current.call { [self] in readLetters() }
  }

  /// With the workflow's lock held.
  override func hears(
    _ message: TaskMessage, changedFrom before: WorkflowTaskState?,
    _ effects: inout WorkflowCore.Effects
  ) {
    switch message {
    case .cancel:
      if !mailbox.isCancelledFromInside { stop(.cancel, &effects) }
    case .reset where before != nil:
      stop(.reset, &effects)
      mailbox.owesRetry = false
    case .retry where before != nil:
      mailbox.owesRetry = true
      mailbox.retryTime = WorkflowClock.now
    default:
      break
    }
  }

  /// With the workflow's lock held.
  override func hearsTimeout(_ effects: inout WorkflowCore.Effects) { stop(.cancel, &effects) }

  /// With the workflow's lock held: writes that the inner workflow is to stop.
  private func stop(_ letter: SubworkflowMailbox.Letter, _ effects: inout WorkflowCore.Effects) {
    mailbox.put(letter)
    // (From here on a start that is under way starts nothing.)
    isStopped.store(true, ordering: .releasing)
    effects.passedOn.append { [self] in
      core?.change { _ in mailbox.writerHasCome() }
      readLetters()
    }
  }

  override var hearsMessages: Bool { true }
  override var subworkflowIfAny: Workflow? { subworkflow }

  /// Reads all letters, unless another thread does; then only the stops, which
  /// must not wait.
  private func readLetters() {
    guard let core else { return }
    var isReader = readStops(core)
    while let letter = core.change({ _ in mailbox.next(isReader: isReader) }) {
      isReader = true
      read(letter, core)
    }
  }

  /// - Returns: Whether the reader has left the rest to this thread.
  private func readStops(_ core: WorkflowCore) -> Bool {
    var isHelper = false
    while true {
      let (stop, isReader) = core.change { [self] _ in mailbox.nextStop(isHelper: isHelper) }
      guard let stop else { return isReader }
      isHelper = true
      tell(stop)
      core.change { _ in mailbox.stopWasRead(stop) }
    }
  }

  private func tell(_ stop: SubworkflowMailbox.Letter) {
    if case .reset = stop { subworkflow.reset() } else { subworkflow.cancel() }
  }

  private func read(_ letter: SubworkflowMailbox.Letter, _ core: WorkflowCore) {
    switch letter {
    case .run(let run):
      begin(run, core)
    case .cancel, .reset:
      tell(letter)
      core.change { _ in mailbox.stopWasRead(letter) }
    // Old news means nothing any more.
    case .news(.failed(let inner, let error)):
      if inner.isFailed { core.fail(self, run: core.change { _ in mailbox.begunRun }, with: error) }
    case .news(.cancelled(let inner, let time)):
      if inner.isCancelled { cancelAlone(core, at: time) }
    case .news(.workflowFinished(let time)):
      if !subworkflow.hasUnfinishedTasks { innerHasFinished(core, at: time) }
    case .stuck(let run):
      if subworkflow.core.read({ $0.graph.activeCount == 0 }) { core.abandon(self, run: run) }
    case .news, .done:
      break
    }
  }

  // MARK: Work

  private func begin(_ run: UInt32, _ core: WorkflowCore) {
    let owesRetry = core.change { [self] state -> Bool? in
      guard state.graph.isExecuting(index, run: run) else { return nil }
      mailbox.begunRun = run
      defer { mailbox.owesRetry = false }
      return mailbox.owesRetry
    }
    guard let owesRetry else { return }
    let work = TaskWork(of: self, run: run, isOnly: false)
    do { try input?(work) } catch {
      work.fail(with: error)
      return
    }
    // (An empty one is started, so that it says that it has finished.)
    if !subworkflow.hasUnfinishedTasks, !subworkflow.isEmpty { return finish(work) }
    if !owesRetry, let failure = subworkflow.earliestFailure {
      work.fail(with: failure.error)
      return
    }
    if !owesRetry, subworkflow.allTasks.contains(where: \.isCancelled) {
      return cancelAlone(core, at: .max)
    }
    // (The run may be over: what was called may have taken its time.)
    let isWanted = core.change { [self] state in
      isStopped.store(false, ordering: .relaxed)
      return state.graph.isExecuting(index, run: run)
    }
    guard isWanted else { return }
    // The observers of the start may take their time. A stop that is written
    // meanwhile is read meanwhile, by the thread that has written it, before this one
    // comes to the inner tasks or after it: either way they are left as it left them.
    let isStillWanted = { [self] in !isStopped.load(ordering: .acquiring) }
    if owesRetry { subworkflow.retry(ifStill: isStillWanted) }
    subworkflow.start(ifStill: isStillWanted).onSuccess(on: .inline) { [weak self] outcome in
      if case .stuck = outcome { self?.send(.stuck(run: run)) }
    }
  }

  private func finish(_ work: TaskWork<Output>) {
    do { work.finish(with: try output(subworkflow)) } catch { work.fail(with: error) }
  }

  // MARK: News from inside

  private func innerNews(_ news: Delivery) {
    switch news {
    case .failed, .cancelled, .workflowFinished: send(.news(news))
    case .started, .finished, .reset, .attemptFailed, .progressed, .retried: break
    }
    switch news {
    case .finished, .reset, .progressed:
      guard let core, core.read({ $0.progress != nil }) else { return }
      // (Not in this call: workflows may be nested deeply.)
      WorkflowThread.current.call { [self] in core.tellProgress(of: self) }
    case .started, .failed, .cancelled, .attemptFailed, .retried, .workflowFinished: break
    }
  }

  /// Cancels the task but leaves the inner workflow alone.
  ///
  /// Not if the task was reset or retried since, but has not begun, or if it was
  /// the task that had been cancelled: what was cancelled inside is then a thing
  /// of the past.
  ///
  /// - Parameter time: When the inner task was cancelled.
  private func cancelAlone(_ core: WorkflowCore, at time: UInt64) {
    core.perform { [self] state, effects in
      guard !state.isReleased,
        state.graph[index].state.transition(on: .cancel, isUnblocked: true) != nil,
        state.graph[index].state == .executing
          ? state.graph[index].run == mailbox.begunRun
          : !mailbox.hasUnreadStops
            && (!mailbox.owesRetry || time > max(mailbox.retryTime, mailbox.cancelTime))
      else { return }
      mailbox.isCancelledFromInside = true
      core.propagate(.cancel, from: CollectionOfOne(index), &state, &effects)
      mailbox.isCancelledFromInside = false
    }
  }

  private func innerHasFinished(_ core: WorkflowCore, at time: UInt64) {
    let finishedRun = core.perform { [self] state, effects -> UInt32? in
      guard !state.isReleased else { return nil }
      switch state.graph[index].state {
      // (A run whose letter has not been read will see for itself.)
      case .executing where state.graph[index].run == mailbox.begunRun:
        return mailbox.begunRun
      case .failed, .cancelled:
        // What had finished before the task failed or was cancelled changes
        // nothing. What was finished since revives it; it then finds all done.
        let node = state.graph[index]
        let end = node.state == .failed ? node.ended : mailbox.cancelTime
        guard !mailbox.hasUnreadStops, time > end else { break }
        core.propagate(.retry, from: CollectionOfOne(index), &state, &effects)
      default: break
      }
      return nil
    }
    if let finishedRun { finish(TaskWork(of: self, run: finishedRun, isOnly: false)) }
  }
}

extension SubworkflowTask where Output == Workflow {
  /// Makes a task of a workflow; its result is the workflow itself.
  ///
  /// - Parameters:
  ///   - name: A name for people; the workflow's by default.
  ///   - subworkflow: The workflow; it must not contain the one to which the
  ///     task is added.
  ///   - input: Called before the inner workflow starts; what it throws fails
  ///     the task.
  public convenience init(
    name: String? = nil, subworkflow: Workflow,
    input: (@Sendable (_ task: TaskWork<Workflow>) throws -> Void)? = nil
  ) {
    self.init(name: name, subworkflow: subworkflow, input: input, output: { $0 })
  }
}

extension Workflow {
  fileprivate var isEmpty: Bool { core.read { $0.graph.count == 0 } }
}
