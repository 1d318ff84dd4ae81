import Futures

/// The right to finish a task, behind the `finish` of a block.
///
///   kept ── finish ──▶ used: the first call ends the work
///     └──── released ──▶ the task fails, because no call can finish it any more
///
/// The task keeps its slot and its categories until then, even if it ended otherwise, for
/// example by a timeout.
@usableFromInline
final class FinishToken<Output: Sendable, Failure: Error>: Sendable {
  private let task: ProducerTask<Output, Failure>
  private let isUsed = Atomic<Bool>(false)
  /// Whether the task's place waits for the token.
  private let keepsPlace: Bool

  /// Makes a token for a task that executes.
  @usableFromInline
  init(for task: ProducerTask<Output, Failure>) {
    self.task = task
    keepsPlace = task.core.workGoesOn()
  }

  /// Finishes the task; only the first call counts.
  @usableFromInline
  func finish(with produced: ProducerTask<Output, Failure>.Produced) {
    guard !isUsed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    task.settle(with: produced)
    if keepsPlace { task.core.workHasEnded() }
  }

  deinit {
    guard !isUsed.load(ordering: .acquiring) else { return }
    if !task.isSettled {
      let error: ProducerTaskError =
        task.core.isCancelRequested
        ? task.core.errorOfCancellation(of: task)
        : .unfinished(task: task.taskName, createdAt: task.createdAt)
      task.core.fail(task, error)
    }
    if keepsPlace { task.core.workHasEnded() }
  }
}
