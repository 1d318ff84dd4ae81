import Foundation
import Futures
import Synchronization

/// A task whose work is a whole workflow.
///
/// ```swift
/// let filter = SubworkflowTask(name: "filter", subworkflow: filterWorkflow)
/// try workflow.add(filter, prerequisites: image)
/// ```
///
/// When its turn comes it starts the inner workflow. It finishes when that has,
/// fails with the error of the inner task that fails first, and is cancelled
/// when an inner task is; the other inner tasks go on. If the inner workflow
/// had ended before, it ends likewise at once: failed wins over cancelled, the
/// earliest error over later ones.
///
/// Cancelling the task cancels the inner workflow; resetting it resets that.
/// Retrying it retries what has failed or was cancelled inside, but not before
/// its own prerequisites have finished. If the inner workflow is brought to its
/// end by other means after the task has failed or was cancelled (an inner task
/// is retried, an external condition is fulfilled), the task finishes too.
///
/// ## Results in and out
///
/// The result is the inner workflow itself, or what `output` makes of it.
/// `input` is called before the inner workflow starts; it can fulfil external
/// conditions inside with results from outside.
public final class SubworkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: the closures never change; the rest is atomic.

  /// The inner workflow.
  public let subworkflow: Workflow
  private let input: (@Sendable (TaskWork<Output>) throws -> Void)?
  private let output: @Sendable (Workflow) throws -> Output

  /// What the inner workflow has yet to be told before it starts.
  private let owed = Atomic<UInt8>(0)
  private static var owedReset: UInt8 { 1 }
  private static var owedRetry: UInt8 { 2 }
  /// The task is being cancelled because an inner task was.
  private let isCancelledFromInside = Atomic(false)
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

  // MARK: Work

  /// Starts the inner workflow, or ends as that has ended.
  public override func main() {
    guard let run = currentRun else { return }
    let work = TaskWork(of: self, run: run, isOnly: false)
    let owed = owed.exchange(0, ordering: .acquiringAndReleasing)
    if owed & Self.owedReset != 0 { subworkflow.reset() }
    do { try input?(work) } catch {
      work.fail(with: error)
      return
    }
    if !subworkflow.hasUnfinishedTasks { return finish(work) }
    if owed & Self.owedRetry == 0 {
      if let error = subworkflow.earliestError {
        work.fail(with: error)
        return
      }
      if subworkflow.allTasks.contains(where: \.isCancelled) { return cancelAlone() }
    }
    WorkflowThread.current.call { [subworkflow] in
      if owed & Self.owedRetry != 0 { subworkflow.retry() }
      subworkflow.start()
      // It may have ended while this run did not listen yet.
      if !subworkflow.hasUnfinishedTasks { self.finish(work) }
    }
  }

  private func finish(_ work: TaskWork<Output>) {
    do { work.finish(with: try output(subworkflow)) } catch { work.fail(with: error) }
  }

  /// Cancels the task but leaves the inner workflow alone.
  private func cancelAlone() {
    core?.perform { [self] state, effects in
      guard !state.isReleased, let core,
        state.graph[index].state.transition(on: .cancel, isUnblocked: true) != nil
      else { return }
      isCancelledFromInside.store(true, ordering: .relaxed)
      core.propagate(.cancel, from: CollectionOfOne(index), &state, &effects)
      isCancelledFromInside.store(false, ordering: .relaxed)
    }
  }

  // MARK: News from inside

  private func innerNews(_ news: Delivery) {
    guard core != nil else { return }
    WorkflowThread.current.call { [self] in
      switch news {
      // Old news means nothing any more.
      case .failed(let inner, let error): if inner.isFailed { fail(with: error) }
      case .cancelled(let inner): if inner.isCancelled { cancelAlone() }
      case .workflowFinished:
        if subworkflow.hasUnfinishedTasks { return }
        if isExecuting {
          finish(currentWork)
        } else {
          // Revives a failed or cancelled task, which then finds all done.
          retryToFinish()
        }
      case .started, .finished, .reset, .retried: break
      }
    }
  }

  private func retryToFinish() {
    guard state == .failed || state == .cancelled else { return }
    retry()
  }

  // MARK: News from outside

  override var hearsMessages: Bool { true }
  override var subworkflowIfAny: Workflow? { subworkflow }

  override func hears(
    _ message: TaskMessage, changedFrom before: WorkflowTaskState?,
    _ effects: inout WorkflowCore.Effects
  ) {
    switch message {
    case .cancel:
      if isCancelledFromInside.load(ordering: .relaxed) { return }
      effects.passedOn.append { [subworkflow] in subworkflow.cancel() }
    case .reset where before != nil:
      owed.store(Self.owedReset, ordering: .releasing)
      effects.passedOn.append { [self] in payReset() }
    case .retry where before != nil:
      owed.bitwiseOr(Self.owedRetry, ordering: .releasing)
    default:
      break
    }
  }

  /// Resets the inner workflow, unless a run has done so on its way.
  private func payReset() {
    let owed = owed.bitwiseAnd(~Self.owedReset, ordering: .acquiringAndReleasing).oldValue
    if owed & Self.owedReset != 0 { subworkflow.reset() }
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
  /// The error of the task that failed first.
  var earliestError: (any Error)? {
    core.read { state in
      state.errors.min { state.graph[$0.key].endDate < state.graph[$1.key].endDate }?.value
    }
  }
}
