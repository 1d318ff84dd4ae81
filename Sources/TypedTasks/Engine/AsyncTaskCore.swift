import Foundation
import Futures

/// The core of a task whose work is async: it runs the work in a Swift task.
///
/// The task holds its slot and its categories until the work has returned.
/// Inline handlers, observers and the `finished` hook run in the Swift task after that.
///
///   waiting ── begin ──▶ running ── the work returns ──▶ over
///      └─────── the task ends ──────────────────────────▶ over
final class AsyncTaskCore<Output: Sendable, Failure: Error>: TypedTaskCore<Output, Failure>,
  @unchecked Sendable
{
  // Sendable: `work` and `running` have locks.

  /// Gets the task.
  typealias AsyncWork = @Sendable (AnyFuture) async throws(Failure) -> Output

  /// The work, until it begins or can no longer run.
  private let work: Lock<AsyncWork?>
  /// The Swift task in which the work runs.
  private let running = Lock<Task<Void, Never>?>(nil)
  /// The task-local values that the work has.
  private let locals: CarriedTaskLocals?

  init(_ locals: CarriedTaskLocals? = .current, _ work: @escaping AsyncWork) {
    self.work = Lock(work)
    self.locals = locals
    super.init()
  }

  override var endsWhenCancelledWorkReturns: Bool { false }

  /// Begins the work.
  func begin(_ task: Typed) {
    guard let work = work.withLock({ $0.take() }) else { return }
    let keepsPlace = workGoesOn()
    let holder = SlotHolder(keptBy: task, in: queueOfSlot)
    // Before the lock: a subclass may override the property.
    let priority = task.qualityOfService.taskPriority
    let start = {
      Task(priority: priority) {
        // Inline handlers run in the slot, so a wait in one of them counts as one of the work.
        await holder.run {
          let result = await self.result(of: work, for: task)
          holder.hasReturned()
          // Handlers run in this Swift task: the end of its work is no reason to cancel it.
          self.running.replace(with: nil)
          task.finish(with: result)
        }
        if keepsPlace { self.workHasEnded() }
      }
    }
    // Under the lock, so that work that cancels itself finds its Swift task here.
    let isTooLate = running.withLock { running in
      running = locals?.run(start) ?? start()
      return task.isSettled
    }
    if isTooLate || task.isCancelled { stop() }
  }

  private func result(of work: AsyncWork, for task: Typed) async -> Typed.Produced {
    do throws(Failure) {
      return .success(try await work(task))
    } catch {
      return .failure(task.failure(ofThrown: error))
    }
  }

  private func stop() {
    let running = running.withLock { $0 }
    releasingAutoreleased { running?.cancel() }
  }

  override func workIsAskedToCancel(_ task: AnyFuture) { stop() }

  override func taskHasSettled(_ task: AnyFuture) {
    // If the task has ended otherwise, the value is no longer wanted.
    let running = running.withLock { $0.take() }
    releasingAutoreleased { running?.cancel() }
    work.replace(with: nil)
  }
}

extension ProducerTask {
  /// Begins the work of a task with an `AsyncTaskCore`.
  final func beginAsyncWork() {
    unsafeDowncast(core, to: AsyncTaskCore<Output, Failure>.self).begin(self)
  }
}

extension QualityOfService {
  /// The nearest priority of Swift tasks.
  fileprivate var taskPriority: TaskPriority? {
    switch self {
    case .userInteractive, .userInitiated: .high
    case .utility: .low
    case .background: .background
    default: nil
    }
  }
}
