import Foundation
import Futures

// The spellings of the seeds that have better ones.

extension ProducerTask {
  /// Old spelling of ``receive(completion:)``.
  @available(*, deprecated, renamed: "receive(completion:)")
  @discardableResult
  public final func recieve(
    @_inheritActorContext completion handler:
      @escaping @Sendable @isolated(any) (Produced) -> Void
  ) -> Self { receive(completion: handler) }

  /// Old spelling of ``receive(on:)-(DispatchQueue)``.
  @available(*, deprecated, renamed: "receive(on:)")
  @discardableResult
  public final func recieve(on queue: DispatchQueue) -> Self { receive(on: queue) }
}

extension TaskQueue {
  /// Old name of ``addBlock(_:)``.
  @available(*, deprecated, renamed: "addBlock(_:)")
  public final func addBlockTask(_ block: @escaping @Sendable () -> Void) { addBlock(block) }
}

extension Tasks {
  /// Old name of ``VoidTask``, which would shadow Swift's own `Task`.
  @available(*, deprecated, renamed: "VoidTask")
  public typealias Task<Failure: Error> = ProducerTask<Void, Failure>
}

/// Old name of ``ProducerTaskProtocolError``.
@available(*, deprecated, renamed: "ProducerTaskProtocolError")
public typealias ProducerTaskSeparateError<Failure: Error> = ProducerTaskProtocolError<Failure>

extension ProducerTaskProtocolError {
  /// Old name of the case `.internal`.
  @available(*, deprecated, renamed: "internal")
  public static func internalFailure(_ error: any Error) -> Self { .internal(error) }

  /// Old name of the case `.provided`.
  @available(*, deprecated, renamed: "provided")
  public static func providedFailure(_ error: Failure) -> Self { .provided(error) }
}
