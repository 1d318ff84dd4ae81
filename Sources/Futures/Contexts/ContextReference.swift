import Foundation

/// A context in one word, with the library's own contexts told apart.
///
/// Futures store this instead of `any ExecutionContext`: it is a fifth of the
/// size, comparing two for "the very same" is a pointer comparison, and the
/// queues need no dynamic dispatch.
@usableFromInline
package enum ContextReference: Sendable {
  case inline
  case operationQueue(OperationQueue)
  case dispatchQueue(DispatchQueue)
  case custom(CustomContext)

  /// Reads a value as what its type is known to be.
  ///
  /// (`unsafeBitCast` is warned about where the compiler sees the types.)
  @inlinable @inline(__always)
  static func reinterpret<Given, Known>(_ value: Given) -> Known {
    withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: Known.self) }
  }

  @inlinable
  package init<Context: ExecutionContext>(_ context: Context) {
    // The exact types by metadata pointer; dynamic casts only for the rest. (Not
    // `context as AnyObject`: that asks at run time whether the type is
    // bridged, which costs more than all the rest of a link.)
    if Context.self == InlineContext.self {
      self = .inline
    } else if Context.self == OperationQueue.self {
      self = .operationQueue(Self.reinterpret(context))
    } else if Context.self == DispatchQueue.self {
      self = .dispatchQueue(Self.reinterpret(context))
    } else {
      self.init(uncommon: context)
    }
  }

  @usableFromInline
  init(uncommon context: any ExecutionContext) {
    switch context {
    case let queue as DispatchQueue: self = .dispatchQueue(queue)
    case let queue as OperationQueue: self = .operationQueue(queue)
    case is InlineContext: self = .inline
    default: self = .custom(CustomContext(context))
    }
  }

  /// Whether the two are the same context, so that a closure for one may run in a
  /// slot of the other.
  @inline(__always)
  package func isSame(as other: ContextReference) -> Bool {
    switch (self, other) {
    case (.operationQueue(let a), .operationQueue(let b)): a === b
    case (.dispatchQueue(let a), .dispatchQueue(let b)): a === b
    case (.custom(let a), .custom(let b)): a.identity != nil && a.isSame(as: b)
    default: false
    }
  }

  /// Whether a batch has to end here although it has more to do.
  package var isSuspended: Bool {
    guard case .operationQueue(let queue) = self else { return false }
    return queue.isSuspended
  }

  /// Whether closures run on the main queue.
  package var isMain: Bool {
    switch self {
    case .operationQueue(let queue): queue === OperationQueue.main
    case .dispatchQueue(let queue): queue === DispatchQueue.main
    default: false
    }
  }
}

/// A context that runs closures in an operation queue, by a way of its own.
package protocol QueueBackedContext: ExecutionContext {
  var queue: OperationQueue { get }
}

extension ContextReference {
  /// The operation queue that closures need a slot of.
  var queue: OperationQueue? {
    switch self {
    case .operationQueue(let queue): queue
    case .custom(let custom): (custom.context as? any QueueBackedContext)?.queue
    case .inline, .dispatchQueue: nil
    }
  }
}

/// A context that is neither a queue nor inline.
@usableFromInline
package final class CustomContext: Sendable {
  package let context: any ExecutionContext
  /// The object behind the context.
  ///
  /// A value has no identity: every one is a context of its own.
  let identity: ObjectIdentifier?

  init(_ context: any ExecutionContext) {
    self.context = context
    identity = type(of: context) is AnyClass ? ObjectIdentifier(context as AnyObject) : nil
  }

  /// Whether the two are, or may be, the same context: two values of one type
  /// may be.
  func isSame(as other: CustomContext) -> Bool {
    identity != nil || other.identity != nil
      ? identity == other.identity : type(of: context) == type(of: other.context)
  }
}
