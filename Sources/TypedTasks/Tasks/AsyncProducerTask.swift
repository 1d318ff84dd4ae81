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
  // Sendable: adds no state.

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
      core: AsyncTaskCore<Output, Failure>(nil) { task async throws(Failure) -> Output in
        try await unsafeDowncast(task, to: AsyncProducerTask.self).perform()
      }, name: name, qos: qos, priority: priority, at: Birthplace(fileID, line))
  }

  /// Makes a task of this module.
  // `@usableFromInline` for the same reason as in `ProducerTask`.
  @usableFromInline
  override init(
    core: any FutureBehaviour, name: String?, qos: QualityOfService,
    priority: Operation.QueuePriority,
    upstream: AnyFuture? = nil, work: Work? = nil, at birthplace: Birthplace
  ) {
    super.init(
      core: core, name: name, qos: qos, priority: priority, upstream: upstream, work: work,
      at: birthplace)
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
  public final override func execute() { beginAsyncWork() }
}
