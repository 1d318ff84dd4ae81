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

  /// What the inner workflow has yet to be told before it starts, and whether
  /// somebody is just telling it. A run that comes upon that is left to him:
  ///
  ///   owes a reset ── payReset ──▶ paying ── the inner one is reset ──▶ nothing
  ///        └─ a run: tells it itself   └─ a run: deferred, begins ◀──┘
  private let owed = Atomic<UInt8>(0)
  private static var owedReset: UInt8 { 1 }
  private static var owedRetry: UInt8 { 2 }
  private static var paying: UInt8 { 4 }
  private static var deferred: UInt8 { 8 }
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
    let owed = changeOwed { old in
      old & Self.paying != 0 ? old | Self.deferred : 0
    }
    if owed & Self.paying != 0 { return }
    begin(TaskWork(of: self, run: run, isOnly: false), owed)
  }

  /// The work of a run, when nobody is about to reset the inner workflow.
  private func begin(_ work: TaskWork<Output>, _ owed: UInt8) {
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

  /// The run that the task is in, also seen from the work of an earlier one.
  private var presentWork: TaskWork<Output> {
    TaskWork(of: self, run: core?.read { $0.graph[index].run } ?? 0, isOnly: false)
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
      case .failed(let inner, let error):
        // Whatever run the task is in: the thread may be in the work of an
        // earlier one.
        if inner.isFailed { core?.fail(self, run: nil, with: error) }
      case .cancelled(let inner): if inner.isCancelled { cancelAlone() }
      case .workflowFinished:
        if subworkflow.hasUnfinishedTasks { return }
        if state == .executing {
          finish(presentWork)
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
      // (What was deferred is a run that is over now.)
      changeOwed { ($0 & Self.paying) | Self.owedReset }
      effects.passedOn.append { [self] in payReset() }
    case .retry where before != nil:
      changeOwed { $0 | Self.owedRetry }
    default:
      break
    }
  }

  /// Resets the inner workflow, unless a run has done so on its way, or somebody
  /// is doing so, who then does it once more.
  private func payReset() {
    let owesAndFree = { (owed: UInt8) in owed & (Self.owedReset | Self.paying) == Self.owedReset }
    var old = changeOwed { owesAndFree($0) ? ($0 & ~Self.owedReset) | Self.paying : $0 }
    guard owesAndFree(old) else { return }
    repeat {
      subworkflow.reset()
      old = changeOwed { old in
        old & Self.owedReset != 0 ? old & ~Self.owedReset : old & Self.owedRetry
      }
    } while old & Self.owedReset != 0
    guard old & Self.deferred != 0 else { return }
    let owed = changeOwed { old in old & Self.paying != 0 ? old | Self.deferred : 0 }
    if owed & Self.paying == 0 { begin(presentWork, owed) }
  }

  /// Changes what is owed; returns what it was.
  @discardableResult
  private func changeOwed(_ change: (UInt8) -> UInt8) -> UInt8 {
    var old = owed.load(ordering: .acquiring)
    while true {
      let (isExchanged, now) = owed.compareExchange(
        expected: old, desired: change(old), ordering: .acquiringAndReleasing)
      if isExchanged { return old }
      old = now
    }
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
