import Futures

/// A task that finishes when somebody says so: a user's input, an approval, a
/// file that has arrived.
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
/// Fulfilled before it comes to its turn, even before it is in a workflow, it
/// remembers the result and finishes as soon as its prerequisites have. A ready
/// one starts when it is fulfilled, whether or not the workflow was started.
///
/// If it comes to its turn first, it fails with
/// ``WorkflowError/externalConditionNotFulfilled(_:)``, and fulfilling it then
/// retries it and what depends on it. (A retry policy has no say in that.) A
/// condition that was made to wait executes instead, for as long as it takes: the
/// run of the workflow goes on, and nobody is told of a failure.
///
/// The first fulfilment counts, until the condition is reset. Ending the condition
/// with ``WorkflowTask/finish(with:)`` while it waits is a fulfilment, too.
///
/// ## How long it keeps its workflow
///
/// A condition that waits executes, so the workflow keeps itself and its tasks
/// until the condition is fulfilled, failed, cancelled or reset, even if no other
/// code holds either of them. Cancel a workflow whose condition nothing can fulfil
/// any more, or give the condition a ``AnyWorkflowTask/timeout``.
public final class ExternalConditionTask<Output: Sendable>: WorkflowTask<Output>,
  @unchecked Sendable
{
  // Sendable: `fulfilment` is atomic. What it points to is retained by it. It is
  // followed under the workflow's lock only; what is taken out of it is released
  // where no thread can follow it any more (see `hears` and `hearsOutside`).

  /// The result that the task will finish with, as an unmanaged box.
  private let fulfilment = Atomic<UInt>(0)

  /// Whether the condition, unfulfilled, waits when its turn comes, instead of
  /// failing.
  public let waitsForFulfillment: Bool

  /// Makes a condition that is not fulfilled.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - waitsForFulfillment: Whether it waits when its turn comes, instead of
  ///     failing.
  public init(name: String? = nil, waitsForFulfillment: Bool = false) {
    self.waitsForFulfillment = waitsForFulfillment
    super.init(name: name, hasHooks: false)
  }

  deinit { release(fulfilment.load(ordering: .acquiring)) }

  /// Whether the condition has been fulfilled, or finished by hand, since it was
  /// made or reset.
  public var isFulfilled: Bool { hasFulfilment || isFinished }

  private var hasFulfilment: Bool { fulfilment.load(ordering: .acquiring) != 0 }

  /// Fulfils the condition.
  ///
  /// - Parameter result: What the task finishes with.
  /// - Returns: Whether this was the first fulfilment. If not, nothing changes, and
  ///   the result is dropped.
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
    // It may have been added to a workflow, and even have run, meanwhile.
    if let core { core.perform { state, effects in goOn(core, &state, &effects) } }
    return true
  }

  private func fulfill(_ core: WorkflowCore, with box: UInt) -> Bool {
    core.perform { state, effects in
      guard state.graph[index].state != .finished, exchangeIfEmpty(box) else { return false }
      goOn(core, &state, &effects)
      return true
    }
  }

  /// With the workflow's lock held: does what a fulfilment leads to, unless a reset
  /// has taken it back.
  private func goOn(
    _ core: WorkflowCore, _ state: inout WorkflowCore.State, _ effects: inout WorkflowCore.Effects
  ) {
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

  /// With the workflow's lock held, while the condition executes.
  private func finishFulfilled(
    _ core: WorkflowCore, _ state: inout WorkflowCore.State, _ effects: inout WorkflowCore.Effects
  ) {
    // (Written as it was, not only read: either this sees that `hearsOutside` has
    // taken the fulfilment back, or that sees that the task is in a workflow.)
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
    _ message: TaskMessage, changedFrom before: WorkflowTaskState?,
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
    // If the task has been added meanwhile, its run may have seen the box, and
    // retains it before it lets go of the workflow's lock.
    core?.change { _ in }
    release(bits)
  }
}

extension ExternalConditionTask where Output == Void {
  /// Fulfils the condition.
  ///
  /// - Returns: Whether this was the first fulfilment.
  @discardableResult
  public func fulfill() -> Bool { fulfill(with: ()) }
}
