import Foundation
import Futures

/// A task whose work is a whole workflow.
///
/// ```swift
/// let filter = SubworkflowTask(name: "filter", subworkflow: filterWorkflow)
/// try workflow.add(filter, prerequisites: image)
/// ```
///
/// When the task runs, it starts the inner workflow. It finishes when the inner workflow
/// finishes, fails with the error of the inner task that fails first (see
/// ``AnyWorkflowTask/failurePath``), and is cancelled when an inner task is cancelled. The other
/// inner tasks continue, and the outer run does not wait for them. If the inner workflow ended
/// before the task runs, the task ends likewise at once: a failure takes precedence over a
/// cancellation, the earliest error over later ones. An inner task that failed before therefore
/// fails the task at once, although other inner tasks could run. Reset or retry the inner
/// workflow first to make it run again.
///
/// The inner workflow belongs to this task alone. Adding the task makes the two workflows
/// parts of one: a message to the task has taken effect inside when the call returns.
/// Observers of ``WorkflowEvent/workflowWillCancel`` and
/// ``WorkflowEvent/workflowWillReset`` of the inner workflow are informed afterwards.
///
/// Cancelling the task cancels the inner workflow; resetting the task resets it. After a
/// cancellation inner tasks that clean up still run, the outer run does not wait for them, and
/// their end changes nothing outside. Retrying the task retries the inner tasks that have failed or
/// were cancelled, after the task's own prerequisites have finished.
///
/// The inner workflow may finish by other means after the task has failed or was cancelled: an
/// inner task is retried, or an external condition is fulfilled. The task then finishes, too.
/// That is also so after ``AnyWorkflowTask/fail(with:)`` of the task itself, which leaves the
/// inner workflow running. If an inner task is reset after all have finished, the task and its
/// dependents are reset, too. A task whose result is being made at that moment waits for the
/// inner workflow to finish again, unless the closure that makes the result caused the reset.
///
/// If the inner workflow is stuck, for instance because one inner task was reset,
/// ``Workflow/start(fileID:line:)`` of the outer workflow starts the ready inner tasks, and
/// announces ``WorkflowEvent/workflowWillStart`` of the inner workflow. While an inner task
/// executes, the inner workflow is not stuck yet, and `start` starts nothing in it. If no work
/// is left that could end an inner task, the outer workflow does not wait for the stuck one and
/// is stuck itself.
///
/// In the outer workflow's ``Workflow/progress`` the task counts by the finished share of
/// the inner workflow.
///
/// ## Results in and out
///
/// The result is the inner workflow itself, or the value that `output` makes of it.
///
/// `input` is called before the inner workflow starts. It can fulfill inner external
/// conditions with results from outside. It is called in one run at a time: a run that
/// begins while the input of the previous one is being made waits for that.
///
/// `output` is called when the inner workflow has finished. If other code resets the
/// inner workflow meanwhile and it finishes again, two threads may call `output` at once;
/// the result of the last call counts.
public final class SubworkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: the closures are only accessed with the workflow's lock held; the rest never
  // changes.

  private let inside: Nesting
  private var input: (@Sendable (TaskWork<Output>) throws -> Void)?
  private var output: (@Sendable (Workflow) throws -> Output)?

  /// The inner workflow.
  public var subworkflow: Workflow { inside.inner }

  /// Makes a task with an inner workflow and a result.
  ///
  /// - Parameters:
  ///   - name: A name for people; by default the inner workflow's.
  ///   - subworkflow: The inner workflow. It must not contain the workflow to which the
  ///     task is added.
  ///   - input: Called before the inner workflow starts. An error that it throws fails
  ///     the task, or cancels it if the error means cancellation.
  ///   - output: Makes the result from the finished inner workflow. An error that it
  ///     throws fails the task, or cancels it if the error means cancellation.
  public init(
    name: String? = nil, subworkflow: Workflow,
    input: (@Sendable (_ task: TaskWork<Output>) throws -> Void)? = nil,
    output: @escaping @Sendable (_ subworkflow: Workflow) throws -> Output
  ) {
    inside = Nesting(subworkflow)
    self.input = input
    self.output = output
    super.init(name: name ?? subworkflow.name, hasHooks: false)
  }

  // MARK: Work

  /// Starts the inner workflow, or ends as it has ended.
  public override func main() {
    guard let core, let run = currentRun else { return }
    // A late thread, for a run that is over, must not take the place of the present run.
    let begins = core.change { [inside, index] state in
      state.graph.isExecuting(index, run: run) && inside.enter(run)
    }
    guard begins else { return }
    // Deferred if this thread is in such a call of a workflow around this one: nesting
    // may be deep.
    let thread = WorkflowThread.current
    thread.call { [self] in
      var next: UInt32? = run
      while let run = next {
        // The thread of an earlier run may also begin a later one.
        if thread.frame?.task == ObjectIdentifier(self) { thread.frame?.run = run }
        // A run may be over before this thread gets to it.
        if core.read({ [index] in $0.graph.isExecuting(index, run: run) }) { begin(run, core) }
        next = core.change { [inside] _ in inside.leave() }
      }
    }
  }

  private func begin(_ run: UInt32, _ core: WorkflowCore) {
    let work = TaskWork(of: self, run: run, isOnly: false)
    let input = core.read { _ in self.input }
    do { try input?(work) } catch { return work.end(with: .failure(error)) }
    let inner = subworkflow.core
    inner.dropCancelledProgress()
    // Observers and the retry policy may be slow. A change that happens meanwhile counts.
    var isAnnounced = false
    while true {
      switch core.beginInside(inside, of: self, run: run, isAnnounced: isAnnounced) {
      case .over, .running: return
      case .starts(let retries):
        if retries { inner.announce(.workflowWillRetry, as: .workflowWillRetry) }
        inner.announce(.workflowWillStart, as: .workflowWillStart)
        isAnnounced = true
      case .allFinished(let ending): return finish(run, ending)
      case .failed(let error):
        let hasFailed = core.fail(self, run: run, with: error) { _ in
          inner.state.earliestFailure != nil
        }
        if hasFailed { return }
        isAnnounced = false
      }
    }
  }

  override func workflowIsGone() {
    guard let core else { return }
    let closures = core.change { _ in
      defer { (input, output) = (nil, nil) }
      return (input, output)
    }
    withExtendedLifetime(closures) {}
  }

  override func innerHasFinished(run: UInt32, ending: UInt32) { finish(run, ending) }

  /// Ends the run with the result made of the inner workflow, unless that runs again
  /// meanwhile.
  private func finish(_ run: UInt32, _ ending: UInt32) {
    guard let core else { return }
    // This thread may be late, and the outer workflow is being released.
    let due = core.change { [inside, index] state in
      state.graph.isExecuting(index, run: run) && inside.isMade(ending) ? self.output : nil
    }
    guard let output = due else { return }
    let isWanted = { [inside] (_: borrowing WorkflowCore.State) in inside.isStillEnding(ending) }
    do {
      let result = try output(subworkflow)
      finish(with: result, run: run, ifStill: isWanted)
    } catch  where error.isCancellation {
      core.cancel(self, run: run, ifStill: isWanted)
    } catch {
      core.fail(self, run: run, with: error, ifStill: isWanted)
    }
  }

  // MARK: Messages, with the lock of the tree held

  override var nesting: Nesting? { inside }
  override var hearsMessages: Bool { true }

  override func hears(
    _ message: TaskMessage, changedFrom before: WorkflowTaskState?, to now: WorkflowTaskState,
    _ effects: inout WorkflowCore.Effects
  ) {
    switch message {
    case .cancel where !inside.isToldFromInside:
      effects.steps.append(
        .stop(subworkflow.core, .cancel, wasExecuting: before == .executing))
    case .reset where !inside.isToldFromInside:
      effects.steps.append(.stop(subworkflow.core, .reset, wasExecuting: false))
      inside.owesRetry = false
    // Inner tasks may have failed in a run of the inner workflow alone.
    case .retry where before != nil || now == .pending || now == .ready:
      inside.owesRetry = true
    default:
      break
    }
  }

  override func hearsTimeout(_ effects: inout WorkflowCore.Effects) {
    effects.steps.append(.stop(subworkflow.core, .cancel, wasExecuting: true))
  }
}

extension SubworkflowTask where Output == Workflow {
  /// Makes a task with an inner workflow; its result is the inner workflow itself.
  ///
  /// - Parameters:
  ///   - name: A name for people; by default the inner workflow's.
  ///   - subworkflow: The inner workflow. It must not contain the workflow to which the
  ///     task is added.
  ///   - input: Called before the inner workflow starts. An error that it throws fails
  ///     the task, or cancels it if the error means cancellation.
  public convenience init(
    name: String? = nil, subworkflow: Workflow,
    input: (@Sendable (_ task: TaskWork<Workflow>) throws -> Void)? = nil
  ) {
    self.init(name: name, subworkflow: subworkflow, input: input, output: { $0 })
  }
}
