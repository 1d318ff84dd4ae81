import Foundation

#if !canImport(Darwin)

  /// Tells whether an operation has been put in a queue, or is just being.
  ///
  /// Foundation says so nowhere in public, and a promise must know: one in a
  /// queue may only finish when the queue has started it, one in no queue has
  /// to finish by itself. `addOperation` reads `isReady` after it has marked
  /// the operation as being enqueued, so a look at the mark from within
  /// `isReady` tells a queue from anybody else who reads it. Only a promise
  /// whose `isReady` is read while it is pending pays for the look.
  enum OperationState {
    /// Where reflection finds the mark.
    private static let index: Int? = {
      Mirror(reflecting: Operation()).children.enumerated()
        .first { $0.element.label == "__state" }?.offset
    }()

    /// Whether a queue has the operation or is taking it.
    ///
    /// Should a future Foundation keep its mark elsewhere, every reader is
    /// taken for a queue: then a promise that somebody looked at but nobody
    /// enqueued finishes late (`AnyFuture.finishUnstartedEventually`), and
    /// nothing is lost.
    static func isInQueue(_ operation: Operation) -> Bool {
      name(of: operation).map { $0 != "initialized" } ?? true
    }

    /// Whether a queue is just starting the operation that it has.
    static func isStarting(_ operation: Operation) -> Bool {
      name(of: operation).map { $0 == "starting" } ?? true
    }

    private static func name(of operation: Operation) -> String? {
      guard let index else { return nil }
      var mirror: Mirror? = Mirror(reflecting: operation)
      while let current = mirror, current.subjectType != Operation.self {
        mirror = current.superclassMirror
      }
      guard let children = mirror?.children, index < children.count else { return nil }
      return String(
        describing: children[children.index(children.startIndex, offsetBy: index)].value)
    }

    /// Whether `isInQueue` can tell.
    static var isKnown: Bool { index != nil }
  }

#endif
