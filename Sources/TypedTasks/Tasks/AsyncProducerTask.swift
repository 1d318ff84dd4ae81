import Foundation
import Futures

/// A task whose work is async.
///
/// Subclass it and override ``perform()``; where a closure is enough, use
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
/// What it returns is the value; what it throws is the `.provided` error, and its type is
/// known. The task holds its slot and its categories until the work has returned, even if
/// a timeout ends it before. Cancelling the task cancels the Swift task that the work runs
/// in; the work decides what comes of it. A `CancellationError` that it throws counts as
/// cancellation, and the error of a task with the same type of failure is taken as it is.
/// Only `any Error` has room for a `CancellationError`: declare it for work that stops when
/// it is cancelled. Work that can throw errors of one type only says so by
/// `finish(with: .failure(.internal(ProducerTaskError.cancelled)))`; what it returns or throws
/// afterwards changes nothing.
open class AsyncProducerTask<Output: Sendable, Failure: Error>:
  ProducerTask<Output, Failure>, @unchecked Sendable
{
  // Sendable: `running` has a lock.
  private let running = Lock<Task<Void, Never>?>(nil)

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for people; that of the type if `nil`.
  ///   - qos: The quality of service of the work; the Swift task gets the priority that
  ///     comes nearest.
  ///   - priority: The priority among the tasks of a queue that are ready.
  ///   - fileID: The file to name in descriptions; leave it out.
  ///   - line: The line to name in descriptions; leave it out.
  public override init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: AsyncCore<Output, Failure>(), name: name, qos: qos, priority: priority,
      at: Birthplace(fileID, line))
  }

  /// The work of the task: override it.
  ///
  /// Called once, in a Swift task of its own, when everything that the task waits for is
  /// done; never if the task was cancelled before.
  ///
  /// - Returns: The value of the task.
  /// - Throws: The provided error of the task.
  /// - Precondition: A subclass overrides it; this one traps, and says so.
  open func perform() async throws(Failure) -> Output {
    // (`preconditionFailure` says nothing in optimised builds.)
    fatalError(
      "\(String(describing: Self.self)).perform() must be overridden. Do the work there.")
  }

  /// Performs the work in a Swift task.
  public final override func execute() {
    guard let work = takeAsyncWork() else { return }
    let keepsPlace = core.workGoesOn()
    // Under the lock, so that the work finds its Swift task there, should it cancel
    // itself.
    let isTooLate = running.withLock { running in
      running = Task(priority: qualityOfService.taskPriority) {
        do throws(Failure) {
          finish(with: .success(try await work()))
        } catch {
          finish(with: .failure(failure(ofThrown: error)))
        }
        if keepsPlace { core.workHasEnded() }
      }
      return isSettled
    }
    if isTooLate || isCancelled { stop() }
  }

  /// The work, once; `nil` if there is none any more.
  func takeAsyncWork() -> (@Sendable () async throws(Failure) -> Output)? {
    { () async throws(Failure) -> Output in try await self.perform() }
  }

  fileprivate final func stop() {
    let running = running.withLock { $0 }
    running?.cancel()
  }

  fileprivate final func end() {
    // Ended otherwise: the value is not wanted.
    running.withLock { $0.take() }?.cancel()
    _ = takeAsyncWork()
  }
}

/// The core of a task whose work goes on after `execute()` has returned.
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
  /// The priority of Swift tasks that comes nearest.
  var taskPriority: TaskPriority? {
    switch self {
    case .userInteractive, .userInitiated: .high
    case .utility: .low
    case .background: .background
    default: nil
    }
  }
}
