import Foundation
import Futures
import Synchronization

/// An async closure as a task.
///
/// ```swift
/// let page = AsyncBlockProducerTask<Data, URLError> { task throws(URLError) in
///   try await download(url)
/// }
/// ```
///
/// What the closure returns is the value; what it throws is the `.provided`
/// error, and its type is known. The task holds its slot and its categories until
/// the closure has returned, even if a timeout ends it before. Cancelling the task cancels the Swift task that the closure runs
/// in; the closure decides what comes of it. A `CancellationError` that it
/// throws counts as cancellation, and the error of a task with the same type of
/// failure is taken as it is.
public final class AsyncBlockProducerTask<Output: Sendable, Failure: Error>:
  ProducerTask<Output, Failure>, @unchecked Sendable
{
  // Sendable: `state` has a lock.

  /// The work of the task.
  public typealias Block = @Sendable (AsyncBlockProducerTask) async throws(Failure) -> Output

  private struct State {
    var block: Block?
    var running: Task<Void, Never>?
  }

  private let state: Lock<State>

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for people; that of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the tasks of a queue that are ready.
  ///   - fileID: The file to name in descriptions; leave it out.
  ///   - line: The line to name in descriptions; leave it out.
  ///   - block: The work. It is released when it has run, or will not.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line, block: @escaping Block
  ) {
    state = Lock(State(block: block))
    super.init(
      core: AsyncCore<Output, Failure>(), name: name, qos: qos, priority: priority,
      at: Birthplace(fileID, line))
  }

  /// Runs the closure in a Swift task.
  public override func execute() {
    guard let block = state.withLock({ $0.block.take() }) else { return }
    let keepsPlace = core.workGoesOn()
    // Under the lock, so that the closure finds its Swift task there, should it
    // cancel itself.
    let isTooLate = state.withLock { state in
      state.running = Task(priority: qualityOfService.taskPriority) {
        do throws(Failure) {
          finish(with: .success(try await block(self)))
        } catch {
          finish(with: .failure(failure(ofThrown: error)))
        }
        if keepsPlace { core.workHasEnded() }
      }
      return isSettled
    }
    if isTooLate || isCancelled { stop() }
  }

  fileprivate func stop() {
    let running = state.withLock { $0.running }
    running?.cancel()
  }

  fileprivate func release() {
    let last = state.withLock { state in
      defer { state = State() }
      return state
    }
    // Ended otherwise: nobody wants the value.
    last.running?.cancel()
  }
}

/// The core of a task whose work goes on after `execute()` has returned.
private final class AsyncCore<Output: Sendable, Failure: Error>: FinalTaskCore<Output, Failure>,
  @unchecked Sendable
{
  // Sendable: adds no state.
  override var endsWhenCancelledWorkReturns: Bool { false }

  override func workIsAskedToCancel(_ task: AnyFuture) {
    unsafeDowncast(task, to: AsyncBlockProducerTask<Output, Failure>.self).stop()
  }

  override func taskHasSettled(_ task: AnyFuture) {
    unsafeDowncast(task, to: AsyncBlockProducerTask<Output, Failure>.self).release()
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
