import Foundation
import Futures

// Names of PSTask that have others here. (More of them are in `TypedTasks+Deprecated.swift`.)

/// The name in PSTask of an error that is a ``ProducerTaskError`` here: as there,
/// `ConsumerProducerTaskError.producingFailure` says that there was nothing to consume.
@available(*, deprecated, renamed: "ProducerTaskError")
public typealias ConsumerProducerTaskError = ProducerTaskError

/// The name in PSTask of ``TaskConditionBuilder``.
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
