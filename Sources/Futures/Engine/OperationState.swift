import Foundation

extension Operation {
  /// Whether a queue would refuse the operation, and stop the process: it has begun,
  /// or a queue holds it.
  ///
  /// On Apple platforms an operation that waits in a queue is not recognised.
  package final var isUsed: Bool {
    #if canImport(Darwin)
      return isExecuting || isFinished
    #else
      if OperationState.isKnown, OperationState.isInQueue(self) { return true }
      // (A future that is in no queue may join one when it has settled, too.)
      return !(self is AnyFuture) && (isExecuting || isFinished)
    #endif
  }
}

#if !canImport(Darwin)

  /// Tells whether a queue holds an operation, or is adopting it.
  ///
  /// Foundation has no public interface for that, and a promise needs to know: in a
  /// queue it may only finish when the queue has started it, in no queue it has to
  /// finish by itself. `addOperation` marks the operation as being enqueued before
  /// it reads `isReady`, so `isReady` can tell by the mark whether a queue reads it.
  /// Only a promise whose `isReady` is read while it is pending pays for the look.
  enum OperationState {
    /// Where reflection finds the mark.
    private static let index: Int? = {
      Mirror(reflecting: Operation()).children.enumerated()
        .first { $0.element.label == "__state" }?.offset
    }()

    /// Whether a queue holds the operation or is adopting it.
    ///
    /// If a later Foundation keeps its mark elsewhere, every reader counts as a
    /// queue. Then a promise whose `isReady` was read, but which is in no queue,
    /// finishes late (`AnyFuture.finishUnstartedEventually`), and is not lost.
    static func isInQueue(_ operation: Operation) -> Bool {
      name(of: operation).map { $0 != "initialized" } ?? true
    }

    /// Whether a queue that holds the operation is starting it.
    static func isStarting(_ operation: Operation) -> Bool {
      name(of: operation).map { $0 == "starting" } ?? true
    }

    private static func name(of operation: Operation) -> String? {
      guard let index, let all = properties(of: operation), index < all.count else { return nil }
      return String(describing: all[all.index(all.startIndex, offsetBy: index)].value)
    }

    /// The stored properties that Foundation gives an operation.
    static func properties(of operation: Operation) -> Mirror.Children? {
      var mirror: Mirror? = Mirror(reflecting: operation)
      while let current = mirror, current.subjectType != Operation.self {
        mirror = current.superclassMirror
      }
      return mirror?.children
    }

    /// Whether `isInQueue` can tell.
    static var isKnown: Bool { index != nil }
  }

#endif
