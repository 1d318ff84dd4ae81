import Foundation

/// The states of an operation that other objects observe: queues, dependents, and on
/// Apple's platforms anyone by key-value observation.
///
/// Every change of them stands between `willChange(_:)` and `didChange(_:)`, outside of
/// all locks. On Apple's platforms both post the keys, and the observers run in these
/// calls (`Futures+Darwin.swift`). On Linux only `didChange(_:)` posts, and only the keys
/// that queues need there (`OperationState.swift`).
package struct OperationKeys: OptionSet, Sendable {
  package let rawValue: UInt8

  @inline(__always)
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static var isFinished: OperationKeys { OperationKeys(rawValue: 1) }
  package static var isCancelled: OperationKeys { OperationKeys(rawValue: 2) }
  package static var isExecuting: OperationKeys { OperationKeys(rawValue: 4) }
  package static var isReady: OperationKeys { OperationKeys(rawValue: 8) }

  // The function of `OptionSet` is not inlined.
  @inline(__always)
  package func contains(_ other: OperationKeys) -> Bool {
    rawValue & other.rawValue == other.rawValue
  }
}
