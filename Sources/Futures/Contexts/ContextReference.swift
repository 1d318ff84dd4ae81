import Foundation

/// A context in one word, with a case for each of the library's own contexts.
///
/// Futures store this instead of `any ExecutionContext`. It is a fifth of the size, two
/// contexts are compared by a pointer comparison, and the queues need no dynamic
/// dispatch.
@usableFromInline
package enum ContextReference: Sendable {
  case inline
  case operationQueue(OperationQueue)
  case dispatchQueue(DispatchQueue)
  case custom(CustomContext)

  /// Reads a value as the type that it is known to have.
  ///
  /// The compiler warns about `unsafeBitCast` where it sees the types.
  @inlinable @inline(__always)
  static func reinterpret<Given, Known>(_ value: Given) -> Known {
    withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: Known.self) }
  }

  @inlinable
  package init<Context: ExecutionContext>(_ context: Context) {
    // The metadata pointers show the exact types; only the rest needs dynamic casts. Not
    // `context as AnyObject`: that asks at run time whether the type is bridged, which
    // costs more than all the rest of a link.
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
    // The main queue runs closures as the main actor.
    case let context as ActorContext where context.actor === MainActor.shared:
      self = .operationQueue(.main)
    default: self = .custom(CustomContext(context))
    }
  }

  /// Whether the two are the same context, so that a closure for one may run in a slot of
  /// the other.
  @inline(__always)
  package func isSame(as other: ContextReference) -> Bool {
    switch (self, other) {
    case (.operationQueue(let a), .operationQueue(let b)): a === b
    case (.dispatchQueue(let a), .dispatchQueue(let b)):
      // On Linux each `DispatchQueue.main` is a new object.
      a === b || (MainQueue.isMain(a) && MainQueue.isMain(b))
    case (.custom(let a), .custom(let b)): a.hasBatches && a.isSame(as: b)
    default: false
    }
  }

  /// Whether the context is a queue that starts nothing now, which ends a batch early.
  package var isPaused: Bool {
    guard case .operationQueue(let queue) = self else { return false }
    return queue.isSuspended || queue.maxConcurrentOperationCount == 0
  }

  /// Whether the context is an operation queue with one slot, and not the main queue.
  ///
  /// Not for subclasses, which may run operations beside the slot. The main queue runs closures
  /// in a nested run loop, too, while another closure is on the stack.
  var isQueueWithOneSlot: Bool {
    guard case .operationQueue(let queue) = self, queue.maxConcurrentOperationCount == 1
    else { return false }
    return type(of: queue) == OperationQueue.self && queue !== OperationQueue.main
  }

  /// Whether closures run on the main queue.
  package var isMain: Bool {
    switch self {
    case .operationQueue(let queue): queue === OperationQueue.main
    case .dispatchQueue(let queue): MainQueue.isMain(queue)
    default: false
    }
  }
}

/// A context that runs closures in an operation queue in a way of its own.
package protocol QueueBackedContext: ExecutionContext {
  var queue: OperationQueue { get }
}

extension ContextReference {
  /// The operation queue in which the closures need a slot, also as jobs of its executor.
  var queueOfSlots: OperationQueue? {
    guard case .custom(let custom) = self, let context = custom.context as? TaskExecutorContext
    else { return queue }
    return (context.executor as? QueueTaskExecutor)?.queue
  }

  /// The operation queue in which the closures need a slot.
  package var queue: OperationQueue? {
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
  /// A value has no identity: each value is a context of its own.
  let identity: ObjectIdentifier?
  /// Whether a closure may run in the slot of another one.
  ///
  /// Not on an actor, because closures that take the actor come to it by another way, past any
  /// batch.
  let hasBatches: Bool

  init(_ context: any ExecutionContext) {
    self.context = context
    identity = type(of: context) is AnyClass ? ObjectIdentifier(context as AnyObject) : nil
    hasBatches = identity != nil && !(context is any Actor)
  }

  /// Whether the two are, or may be, the same context.
  ///
  /// Two values of one type may be the same.
  func isSame(as other: CustomContext) -> Bool {
    identity != nil || other.identity != nil
      ? identity == other.identity : type(of: context) == type(of: other.context)
  }
}
