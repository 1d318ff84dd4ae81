import Futures

/// A task that other code fulfills: a user's input, an approval, a file that has arrived.
///
/// ```swift
/// let approval = ExternalConditionTask<Approval>(name: "approval")
/// try workflow.add(approval)
/// try workflow.add(publish, prerequisites: approval)
/// workflow.start()
/// approval.fulfill(with: Approval(by: "me"))
/// ```
///
/// ## When it is fulfilled
///
/// A condition may be fulfilled before it is due, even before it is in a workflow. It
/// then remembers the result and finishes as soon as its prerequisites have. A ready
/// condition starts when it is fulfilled, whether or not the workflow was started. One that
/// was fulfilled before it was added starts with the workflow.
///
/// A condition that is due before it is fulfilled fails with
/// ``WorkflowError/externalConditionNotFulfilled(_:)``, whatever its retry policy.
/// Fulfilling it later retries it and its dependents. A condition with
/// ``waitsForFulfillment`` executes instead, without a time limit: the run of the
/// workflow continues, and observers see no failure.
///
/// The first fulfillment counts, until the condition is reset. Ending the condition with
/// ``WorkflowTask/finish(with:)`` while it waits also fulfills it.
///
/// ## How long it keeps its workflow
///
/// A waiting condition executes. The workflow therefore keeps itself and its tasks until
/// the condition is fulfilled, failed, cancelled or reset, even without outside
/// references to either. Cancel a workflow whose condition can no longer be fulfilled, or
/// give the condition a ``AnyWorkflowTask/timeout``.
public final class ExternalConditionTask<Output: Sendable>: WorkflowTask<Output>,
  @unchecked Sendable
{
  // Sendable: `fulfilment` is atomic and retains the box that it points to. The pointer
  // is dereferenced only under the workflow's lock. A box that is taken out is released
  // where no thread can dereference it any more (see `hears` and `hearsOutside`).

  /// The result with which the task will finish, as an unmanaged box.
  private let fulfilment = Atomic<UInt>(0)

  /// Whether an unfulfilled condition waits when it is due, instead of failing.
  public let waitsForFulfillment: Bool

  /// Makes a condition that is not fulfilled.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - waitsForFulfillment: Whether the unfulfilled condition waits when it is due,
  ///     instead of failing.
  public init(name: String? = nil, waitsForFulfillment: Bool = false) {
    self.waitsForFulfillment = waitsForFulfillment
    super.init(name: name, hasHooks: false)
  }

  deinit { release(fulfilment.load(ordering: .acquiring)) }

  /// Whether the condition has been fulfilled or finished since it was made or reset.
  public var isFulfilled: Bool { hasFulfilment || isFinished }

  private var hasFulfilment: Bool { fulfilment.load(ordering: .acquiring) != 0 }

  /// Fulfills the condition.
  ///
  /// - Parameter result: The result with which the task finishes.
  /// - Returns: Whether this was the first fulfillment. If not, nothing changes, and the
  ///   result is dropped.
  @discardableResult
  public func fulfill(with result: Output) -> Bool {
    let box = UInt(bitPattern: Unmanaged.passRetained(ResultBox(result)).toOpaque())
    let isFirst = core.map { fulfill($0, with: box) } ?? fulfillOutside(with: box)
    if !isFirst { release(box) }
    return isFirst
  }

  private func exchangeIfEmpty(_ box: UInt) -> Bool {
    fulfilment.compareExchange(expected: 0, desired: box, ordering: .acquiringAndReleasing)
      .exchanged
  }

  private func fulfillOutside(with box: UInt) -> Bool {
    guard exchangeIfEmpty(box) else { return false }
    // Another thread may have added the task to a workflow, and even run it, meanwhile.
    if let core { core.perform { state, effects in goOn(core, &state, &effects) } }
    return true
  }

  private func fulfill(_ core: WorkflowCore, with box: UInt) -> Bool {
    core.perform { state, effects in
      let node = state.graph[index]
      // Another result that is being recorded comes first.
      guard node.state != .finished, !node.flags.contains(.isRecording), exchangeIfEmpty(box)
      else { return false }
      goOn(core, &state, &effects)
      return true
    }
  }

  /// With the workflow's lock held: carries out the consequences of a fulfillment, unless
  /// a reset has revoked it.
  private func goOn(
    _ core: WorkflowCore, _ state: inout WorkflowCore.State, _ effects: inout WorkflowCore.Effects
  ) {
    // The next reset has to reach this task, too.
    state.graph.removeMarks()
    guard !state.isReleased, hasFulfilment else { return }
    switch state.graph[index].state {
    case .failed, .cancelled:
      core.propagate(.retry, from: CollectionOfOne(index), &state, &effects)
    case .ready:
      if state.graph.start(index) { core.enqueue(index, &state, &effects) }
    case .executing:
      if state.graph[index].flags.contains(.isWaiting) {
        finishFulfilled(core, &state, &effects)
      }
    case .pending, .finished, .skipped:
      break
    }
  }

  /// Finishes, fails or begins to wait.
  public override func main() {
    guard let core, let run = currentRun else { return }
    core.perform { state, effects in
      guard !state.isReleased, state.graph.isExecuting(index, run: run) else { return }
      if hasFulfilment {
        finishFulfilled(core, &state, &effects)
      } else if waitsForFulfillment {
        core.waits(index, &state, &effects)
      } else {
        core.fail(
          self, with: WorkflowError.externalConditionNotFulfilled(self), &state, &effects)
      }
    }
  }

  /// With the workflow's lock held, while the condition executes: finishes it.
  private func finishFulfilled(
    _ core: WorkflowCore, _ state: inout WorkflowCore.State, _ effects: inout WorkflowCore.Effects
  ) {
    // A write of the same value, not only a read: either this sees that `hearsOutside`
    // has revoked the fulfillment, or that call sees that the task is in a workflow.
    let bits = fulfilment.bitwiseOr(0, ordering: .acquiringAndReleasing).oldValue
    guard let box = box(bits) else { return }
    core.finish(self, &state, &effects, store: { stored = box.result }, box: { box })
  }

  private func box(_ bits: UInt) -> ResultBox<Output>? {
    UnsafeRawPointer(bitPattern: bits).map {
      Unmanaged<ResultBox<Output>>.fromOpaque($0).takeUnretainedValue()
    }
  }

  private func release(_ bits: UInt) {
    guard let pointer = UnsafeRawPointer(bitPattern: bits) else { return }
    Unmanaged<ResultBox<Output>>.fromOpaque(pointer).release()
  }

  // MARK: Resets

  override var hearsMessages: Bool { true }

  override func hears(
    _ message: TaskMessage, changedFrom before: WorkflowTaskState?, to now: WorkflowTaskState,
    _ effects: inout WorkflowCore.Effects
  ) {
    guard message == .reset else { return }
    let bits = fulfilment.exchange(0, ordering: .acquiringAndReleasing)
    guard let box = box(bits) else { return }
    effects.garbage.append(box)
    release(bits)
  }

  override func hearsOutside(_ message: TaskMessage) {
    guard message == .reset else { return }
    let bits = fulfilment.exchange(0, ordering: .acquiringAndReleasing)
    // If the task has been added to a workflow meanwhile, its run may have read the box.
    // The run retains the box before it releases the workflow's lock.
    core?.change { _ in }
    release(bits)
  }
}

extension ExternalConditionTask where Output == Void {
  /// Fulfills the condition.
  ///
  /// - Returns: Whether this was the first fulfillment.
  @discardableResult
  public func fulfill() -> Bool { fulfill(with: ()) }
}
