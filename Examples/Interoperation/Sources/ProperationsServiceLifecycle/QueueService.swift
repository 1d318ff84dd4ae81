import Foundation
import Logging
import Properations
import ServiceLifecycle

/// Shuts an operation queue down together with the services of a group.
///
/// ```swift
/// let group = ServiceGroup(
///   services: [QueueService(uploads, shutDownWithin: .seconds(10), logger: logger), server],
///   gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// The service does nothing until the group shuts down. Then the queue refuses new work, and
/// its work has the given time to finish. When the time is up, what is left is cancelled; see
/// `OperationQueue.shutDown(within:)`. If the group cancels its services, the work is cancelled
/// at once. The service ends when the queue is empty, or has been cancelled. It logs a warning
/// for each operation that had not finished.
///
/// A group shuts its services down in reverse order. So list the queue before the services that
/// put work in it.
public struct QueueService: Service {
  private let queue: OperationQueue
  private let duration: Duration
  private let logger: Logger

  /// Makes a service of a queue.
  ///
  /// - Parameters:
  ///   - queue: The queue, which may also be a `TaskQueue`. The main queue cannot be shut down:
  ///     with it the service fails when it starts.
  ///   - duration: The time that the work may take after a graceful shutdown has begun.
  ///   - logger: Gets the names of the operations that had not finished.
  public init(_ queue: OperationQueue, shutDownWithin duration: Duration, logger: Logger) {
    self.queue = queue
    self.duration = duration
    self.logger = logger
  }

  /// Waits for the shutdown, and shuts the queue down.
  ///
  /// - Throws: ``ProperationsError/mainQueueCannotBeShutDown``.
  public func run() async throws {
    if queue === OperationQueue.main { throw ProperationsError.mainQueueCannotBeShutDown }
    // Throws if the task is cancelled, and then the queue has no time left.
    try? await gracefulShutdown()
    let unfinished = try await shutDown()
    for operation in unfinished {
      logger.warning(
        "An operation had not finished when its queue was shut down.",
        metadata: ["operation": "\(operation.name ?? "\(operation)")"])
    }
  }

  private func shutDown() async throws -> [Operation] {
    if !Task.isCancelled {
      let unfinished = queue.shutDown(within: duration)
      if let unfinished = try? await unfinished.value(onTaskCancellation: .cancelFuture) {
        return unfinished
      }
    }
    // A task of its own, because awaiting throws at once in a cancelled task.
    return try await Task { [queue] in try await queue.shutDown(within: .zero).value }.value
  }
}
