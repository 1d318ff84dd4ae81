import Foundation
import Futures

// Names from PSTask that have other names here. `TypedTasks+Deprecated.swift` has more of
// them.

/// The old name of ``ProducerTaskError``, from PSTask.
///
/// `ConsumerProducerTaskError.producingFailure` means, as there, that there was nothing to
/// consume.
@available(*, deprecated, renamed: "ProducerTaskError")
public typealias ConsumerProducerTaskError = ProducerTaskError

/// The old name of ``TaskConditionBuilder``, from PSTask.
@available(*, deprecated, renamed: "TaskConditionBuilder")
public typealias ConditionBuilder = TaskConditionBuilder

extension TaskQueue {
  /// Old name of ``addBarrierBlock(_:)``.
  ///
  /// - Parameter block: The work.
  @available(*, deprecated, renamed: "addBarrierBlock(_:)")
  public final func addBarrierBlockTask(_ block: @escaping @Sendable () -> Void) {
    addBarrierBlock(block)
  }
}
