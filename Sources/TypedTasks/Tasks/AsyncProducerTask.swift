import Foundation
import Futures

/// A task whose work is async.
///
/// Subclass it and override ``perform()``. If a closure is enough, use
/// ``AsyncBlockProducerTask``.
///
/// ```swift
/// final class CountBytes: AsyncProducerTask<Int, URLError>, @unchecked Sendable {
///   private let url: URL
///
///   init(at url: URL) {
///     self.url = url
///     super.init()
///   }
///
///   override func perform() async throws(URLError) -> Int { try await download(url).count }
/// }
/// ```
///
/// The returned value is the task's value. A thrown error is its `.provided` error and
/// keeps its type. The task holds its slot and its categories until the work has
/// returned, even if a timeout ends the task before.
///
/// If the work awaits a future or a task that cannot settle without this task, the await
/// throws `ProperationsError.cycle`. If it awaits one that needs a slot of the same queue,
/// and tasks that wait in this way hold all slots, the await throws
/// `ProperationsError.wouldDeadlock`. This holds for the Swift task in which the work runs,
/// not for others that the work starts.
///
/// Cancelling the task cancels the Swift task in which the work runs; the work decides
/// how to react. A thrown `CancellationError` counts as cancellation. The error of a task
/// with the same type of failure is used as it is. Only `any Error` has room for a
/// `CancellationError`: declare this type of failure for work that stops when it is
/// cancelled. Work that throws errors of one type calls
/// `finish(with: .failure(.internal(ProducerTaskError.cancelled)))` instead; a value or an
/// error that follows changes nothing.
open class AsyncProducerTask<Output: Sendable, Failure: Error>:
  ProducerTask<Output, Failure>, @unchecked Sendable
{
  // Sendable: `running` has a lock.
  private let running = Lock<Task<Void, Never>?>(nil)

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work. The Swift task gets the nearest
  ///     priority.
  ///   - priority: The priority among the ready tasks of a queue.
  public override init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: AsyncCore<Output, Failure>(), name: name, qos: qos, priority: priority,
      at: Birthplace(fileID, line))
  }

  /// The work of the task; override this method.
  ///
  /// It is called once, in a Swift task of its own, when all waits of the task have
  /// ended. It is never called if the task was cancelled before.
  ///
  /// - Returns: The value of the task.
  /// - Throws: The provided error of the task.
  /// - Precondition: A subclass overrides this method. The base method stops the process
  ///   with a message.
  open func perform() async throws(Failure) -> Output {
    // `preconditionFailure` prints no message in optimised builds.
    fatalError(
      "\(String(describing: Self.self)).perform() must be overridden. Do the work there.")
  }

  /// Runs ``perform()`` in a Swift task.
  public final override func execute() {
    guard let work = takeAsyncWork() else { return }
    let keepsPlace = core.workGoesOn()
    let holder = SlotHolder(keptBy: self, in: core.home)
    // Under the lock, so that work that cancels itself finds its Swift task here.
    let isTooLate = running.withLock { running in
      running = Task(priority: qualityOfService.taskPriority) {
        finish(with: await holder.run { await result(of: work) })
        if keepsPlace { core.workHasEnded() }
      }
      return isSettled
    }
    if isTooLate || isCancelled { stop() }
  }

  private final func result(of work: () async throws(Failure) -> Output) async -> Produced {
    do throws(Failure) {
      return .success(try await work())
    } catch {
      return .failure(failure(ofThrown: error))
    }
  }

  /// Takes the work; `nil` if no work is left.
  func takeAsyncWork() -> (@Sendable () async throws(Failure) -> Output)? {
    { () async throws(Failure) -> Output in try await self.perform() }
  }

  fileprivate final func stop() {
    let running = running.withLock { $0 }
    running?.cancel()
  }

  fileprivate final func end() {
    // The task has ended otherwise: its value is no longer wanted.
    running.withLock { $0.take() }?.cancel()
    _ = takeAsyncWork()
  }
}

/// The core of a task whose work continues after `execute()` has returned.
private final class AsyncCore<Output: Sendable, Failure: Error>: TypedTaskCore<Output, Failure>,
  @unchecked Sendable
{
  // Sendable: adds no state.
  override var endsWhenCancelledWorkReturns: Bool { false }

  override func workIsAskedToCancel(_ task: AnyFuture) {
    unsafeDowncast(task, to: AsyncProducerTask<Output, Failure>.self).stop()
  }

  override func taskHasSettled(_ task: AnyFuture) {
    unsafeDowncast(task, to: AsyncProducerTask<Output, Failure>.self).end()
  }
}

extension QualityOfService {
  /// The nearest priority of Swift tasks.
  var taskPriority: TaskPriority? {
    switch self {
    case .userInteractive, .userInitiated: .high
    case .utility: .low
    case .background: .background
    default: nil
    }
  }
}
