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
/// The inner workflow belongs to the task alone. When the task is added, the two workflows
/// become parts of one: what the task is told is done inside when the call returns.
/// (Observers of ``WorkflowEvent/workflowWillCancel`` and
/// ``WorkflowEvent/workflowWillReset`` of the inner workflow are told afterwards.)
///
/// Cancelling the task cancels the inner workflow; resetting it resets that. What cleans
/// up inside then goes on, and the outer run does not wait for it. Retrying the task
/// retries what has failed or was cancelled inside, but not before its own prerequisites
/// have finished.
///
/// If the inner workflow is brought to its end by other means after the task has failed or
/// was cancelled (an inner task is retried, an external condition is fulfilled), the task
/// finishes too. If a task inside is reset after all has finished, so is the task, with
/// those that depend on it; one whose result is just being made waits for the end inside
/// again, unless the reset comes from what makes it.
///
/// If the inner workflow is stuck, because a task inside was reset alone for instance,
/// ``Workflow/start()`` of the outer one starts what is ready inside. If the inner workflow
/// comes to rest stuck, with no work left that could end a task of it, the outer one does not wait
/// for it either and is stuck itself.
///
/// In the outer workflow's ``Workflow/progress`` the task counts as far as the inner
/// workflow has finished.
///
/// ## Results in and out
///
/// The result is the inner workflow itself, or what `output` makes of it.
/// `input` is called before the inner workflow starts; it can fulfil external
/// conditions inside with results from outside. It is called in one run at a time: a run
/// that begins while the input of the one before is being made waits for that. `output` is
/// called when all has finished inside; if that is reset from elsewhere meanwhile, and
/// finishes again, perhaps on two threads at once: the last one's result counts.
public final class SubworkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: the closures are only replaced when the workflow is gone, which a worker
  // keeps while it runs tasks; the rest never changes.

  private let inside: Nesting
  private var input: (@Sendable (TaskWork<Output>) throws -> Void)?
  private var output: (@Sendable (Workflow) throws -> Output)?

  /// The inner workflow.
  public var subworkflow: Workflow { inside.inner }

  /// Makes a task of a workflow.
  ///
  /// - Parameters:
  ///   - name: A name for people; the workflow's by default.
  ///   - subworkflow: The workflow; it must not contain the one to which the
  ///     task is added.
  ///   - input: Called before the inner workflow starts; what it throws fails
  ///     the task, or cancels it if it means cancellation.
  ///   - output: Makes the result of the finished workflow; what it throws
  ///     fails the task, or cancels it if it means cancellation.
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

  /// Starts the inner workflow, or ends as that has ended.
  public override func main() {
    guard let core, let run = currentRun else { return }
    // (A thread that comes late, for a run that is over, must not take the place of the
    // present one.)
    let begins = core.change { [inside, index] state in
      state.graph.isExecuting(index, run: run) && inside.enter(run)
    }
    guard begins else { return }
    // (Not in this call if it is one of a workflow around this one: they may be many.)
    let thread = WorkflowThread.current
    thread.call { [self] in
      var next: UInt32? = run
      while let run = next {
        // (A later run may be begun where an earlier one was.)
        if thread.frame?.task == ObjectIdentifier(self) { thread.frame?.run = run }
        begin(run, core)
        next = core.change { [inside] _ in inside.leave() }
      }
    }
  }

  private func begin(_ run: UInt32, _ core: WorkflowCore) {
    let work = TaskWork(of: self, run: run, isOnly: false)
    do { try input?(work) } catch { return work.end(with: .failure(error)) }
    let inner = subworkflow.core
    inner.dropCancelledProgress()
    var beginning = core.beginInside(inside, of: self, run: run, isAnnounced: false)
    if case .starts(let retries) = beginning {
      if retries { inner.announce(.workflowWillRetry, as: .workflowWillRetry) }
      inner.announce(.workflowWillStart, as: .workflowWillStart)
      // (The observers may take their time. What happens meanwhile counts.)
      beginning = core.beginInside(inside, of: self, run: run, isAnnounced: true)
    }
    switch beginning {
    case .over, .starts, .running: break
    case .allFinished(let ending): finish(run, ending)
    case .failed(let error): core.fail(self, run: run, with: error)
    }
  }

  override func workflowIsGone() { (input, output) = (nil, nil) }

  override func innerHasFinished(run: UInt32, ending: UInt32) { finish(run, ending) }

  /// Ends the run with what is made of the inner workflow, unless that goes on meanwhile.
  private func finish(_ run: UInt32, _ ending: UInt32) {
    guard let core, let output else { return }
    core.change { [inside] _ in inside.isMade(ending) }
    let isWanted = { [inside] in inside.isStillEnding(ending) }
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
    _ message: TaskMessage, changedFrom before: WorkflowTaskState?,
    _ effects: inout WorkflowCore.Effects
  ) {
    switch message {
    case .cancel where !inside.isToldFromInside:
      effects.steps.append(.stop(subworkflow.core, .cancel))
    case .reset where before != nil && !inside.isToldFromInside:
      effects.steps.append(.stop(subworkflow.core, .reset))
      inside.owesRetry = false
    case .retry where before != nil:
      inside.owesRetry = true
    default:
      break
    }
  }

  override func hearsTimeout(_ effects: inout WorkflowCore.Effects) {
    effects.steps.append(.stop(subworkflow.core, .cancel))
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
  ///     the task, or cancels it if it means cancellation.
  public convenience init(
    name: String? = nil, subworkflow: Workflow,
    input: (@Sendable (_ task: TaskWork<Workflow>) throws -> Void)? = nil
  ) {
    self.init(name: name, subworkflow: subworkflow, input: input, output: { $0 })
  }
}
