import Foundation

// The entries of a future's list of waiters.
//
// An object that is told that a future has settled is an entry of that list: a derived
// future, an observer's closure, an awaiting task, a blocked thread, an input of a join,
// an operation or future that depends on it, a cancellation handler. The list is also the
// graph in which the library looks for cycles (`Graph.swift`).
//
// The list is doubly linked, and the links live in the waiters themselves. So attaching
// allocates nothing, and leaving takes constant time. The lock of the future that owns
// the list guards all links in it.

/// An entry in a future's list of waiters.
@usableFromInline
package enum Waiter {
  /// A derived future: it becomes runnable.
  case future(AnyFuture)
  /// Library code of another kind.
  case callback(CallbackWaiter)

  // The links are read and written one by one. A list operation touches three or four of
  // them, and an access to a whole struct through an enum costs more than the operation.

  @inline(__always)
  var next: Waiter? {
    get {
      switch self {
      case .future(let future): future.links.next
      case .callback(let callback): callback.links.next
      }
    }
    nonmutating set {
      switch self {
      case .future(let future): future.links.next = newValue
      case .callback(let callback): callback.links.next = newValue
      }
    }
  }

  @inline(__always)
  var previous: UnownedWaiter? {
    get {
      switch self {
      case .future(let future): future.links.previous
      case .callback(let callback): callback.links.previous
      }
    }
    nonmutating set {
      switch self {
      case .future(let future): future.links.previous = newValue
      case .callback(let callback): callback.links.previous = newValue
      }
    }
  }

  @inline(__always)
  private var standing: WaiterLinks.Standing {
    get {
      switch self {
      case .future(let future): future.links.standing
      case .callback(let callback): callback.links.standing
      }
    }
    nonmutating set {
      switch self {
      case .future(let future): future.links.standing = newValue
      case .callback(let callback): callback.links.standing = newValue
      }
    }
  }

  var isEnlisted: Bool { standing != .outside }
  var isConsumer: Bool { standing == .consumer }
  func become(consumer isConsumer: Bool) { standing = isConsumer ? .consumer : .watcher }
  var isKeptUntilFinish: Bool { standing == .untilFinish }
  func keepUntilFinish() { standing = .untilFinish }

  /// Puts the waiter into a list, after another waiter.
  @inline(__always)
  func enlist(after previous: UnownedWaiter?, isConsumer: Bool) {
    standing = isConsumer ? .consumer : .watcher
    if let previous { self.previous = previous }
  }

  /// Takes the waiter out of its list.
  ///
  /// Returns the next waiter.
  @inline(__always)
  func delist() -> Waiter? {
    switch self {
    case .future(let future): future.links.clear()
    case .callback(let callback): callback.links.clear()
    }
  }

  @inline(__always)
  var unowned: UnownedWaiter {
    switch self {
    case .future(let future): .future(Unmanaged.passUnretained(future))
    case .callback(let callback): .callback(Unmanaged.passUnretained(callback))
    }
  }

  /// Whether the waiter is told when the operation has finished, which may be after the
  /// future has settled.
  @inline(__always)
  var waitsForFinish: Bool {
    if case .callback(let callback) = self { return callback.waitsForFinish }
    return false
  }

  /// The futures that cannot settle, or run, before the waiter has been told.
  var downstreams: [AnyFuture] {
    switch self {
    case .future(let future): [future]
    case .callback(let callback): callback.downstreams
    }
  }
}

/// A waiter that its reference does not own: the link to the previous entry of the list.
package enum UnownedWaiter {
  case future(Unmanaged<AnyFuture>)
  case callback(Unmanaged<CallbackWaiter>)

  var waiter: Waiter {
    switch self {
    case .future(let future): .future(future.takeUnretainedValue())
    case .callback(let callback): .callback(callback.takeUnretainedValue())
    }
  }
}

/// A waiter's place in the list of the future that it waits for.
package struct WaiterLinks {
  enum Standing: UInt8 {
    case outside
    /// In a list, without wanting the value.
    ///
    /// A watcher does not keep the work upstream from being cancelled.
    case watcher
    /// In a list, and wants the value.
    case consumer
    /// In the list of waiters that are told when the operation has finished.
    case untilFinish
  }

  var next: Waiter?
  var previous: UnownedWaiter?
  var standing = Standing.outside

  @inline(__always)
  mutating func clear() -> Waiter? {
    standing = .outside
    previous = nil
    return next.take()
  }
}

/// Waiters in the order in which they attached.
package struct WaiterList {
  private(set) var first: Waiter?
  private(set) var last: UnownedWaiter?

  package init() {}

  package var isEmpty: Bool { first == nil }

  /// Whether the only waiter is a future whose closure needs no hop.
  @inline(__always)
  var isOneInline: Bool {
    // The unowned reference needs no reference counting.
    guard case .future(let future)? = last else { return false }
    return future._withUnsafeGuaranteedRef {
      $0.links.previous == nil && $0.traits.contains(.runsInline)
    }
  }

  @inline(__always)
  mutating func append(_ waiter: Waiter, isConsumer: Bool) {
    waiter.enlist(after: last, isConsumer: isConsumer)
    if let last { last.waiter.next = waiter } else { first = waiter }
    last = waiter.unowned
  }

  /// Appends another list.
  ///
  /// Only for lists that no other thread reaches.
  mutating func append(_ list: WaiterList) {
    guard let next = list.first else { return }
    if let last {
      last.waiter.next = next
      next.previous = last
    } else {
      first = next
    }
    last = list.last
  }

  /// Takes a waiter out, and returns whether it was a consumer.
  ///
  /// Returns `nil` if it is in no list.
  mutating func remove(_ waiter: Waiter) -> Bool? {
    guard waiter.isEnlisted else { return nil }
    let isConsumer = waiter.isConsumer
    let previous = waiter.previous
    let next = waiter.delist()
    if let previous { previous.waiter.next = next } else { first = next }
    if let next { next.previous = previous } else { last = previous }
    return isConsumer
  }

  /// Takes out the first waiter.
  ///
  /// Only for a list that no other thread reaches. The next waiter keeps its link to this
  /// one until it is taken out too.
  @inline(__always)
  mutating func popFirst() -> Waiter? {
    guard let waiter = first.take() else { return nil }
    first = waiter.delist()
    return waiter
  }

  /// Returns all waiters and forgets them.
  @inline(__always)
  mutating func take() -> WaiterList {
    let all = self
    self = WaiterList()
    return all
  }

  /// Calls a closure with each waiter, until it returns `false`.
  func forEach(_ body: (Waiter) -> Bool) {
    var current = first
    while let waiter = current, body(waiter) { current = waiter.next }
  }
}

/// A waiter that is not a future: library code that is told of a settlement.
///
/// The library calls `deliver(_:)` without holding a lock. `deliver(_:)` must not call
/// user code.
@usableFromInline
package class CallbackWaiter: @unchecked Sendable {
  // Sendable: the lock of the future waited for guards `links`. Each subclass argues for
  // its own state.
  @exclusivity(unchecked) final var links = WaiterLinks()

  init() {}

  /// Called once, after `source` has settled, or after it has finished if the waiter
  /// waits for that.
  package func deliver(_ source: AnyFuture) {}

  /// What became of a waiter that was to move to another future.
  package enum Move {
    /// The waiter no longer needs a result.
    case done
    /// The waiter is in the list of the other future.
    case wanted
    /// Other waiters, which are in no list of a future, take the place of this one.
    case replaced(by: WaiterList)
  }

  /// Attaches the waiter to `source`, because the future that it waited for was released
  /// and stood for `source`.
  package func move(to source: AnyFuture) -> Move {
    if isDone { return .done }
    retarget(source)
    source.attach(.callback(self), isConsumer: isConsumer)
    // The waiter may have withdrawn between the two calls.
    guard isDone else { return .wanted }
    source.detach(.callback(self), cancelling: false)
    return .done
  }

  /// Points the waiter at `source`.
  ///
  /// Called before the waiter is attached to `source`.
  package func retarget(_ source: AnyFuture) {}

  /// Whether the waiter no longer needs a result.
  package var isDone: Bool { false }

  /// The futures waited for that still exist.
  package var upstreams: [AnyFuture] { [] }

  /// The number of futures waited for, in constant time.
  package var upstreamCount: Int { 1 }

  /// The futures that cannot settle, or run, before this waiter has been told.
  package var downstreams: [AnyFuture] { [] }

  /// The operation waited for, if it is not a future.
  package var operation: Operation? { nil }

  /// Whether the future that this waiter works for can settle only after all the futures
  /// waited for, not after just one of them.
  package var needsAll: Bool { true }

  /// Whether the result of one of the futures waited for is enough for the future that this
  /// waiter works for, whatever becomes of the others.
  package var needsOnlyOne: Bool { false }

  /// Ends the wait, because the future that this waiter works for has settled in another
  /// way.
  ///
  /// - Parameter cancelling: Whether the futures upstream are asked to cancel if they
  ///   have no other consumer.
  package func withdraw(cancelling: Bool) {}

  /// What the future that this waiter works for waits for, if that is no future.
  package var reasonToWait: FutureExplanation.Reason? { nil }

  /// What the progress of the future that this waiter works for is made of; `nil` if that
  /// is unknown.
  package var progressParts: ProgressParts? { nil }

  /// Keeps the future that this waiter works for alive until it settles.
  package func pin(_ target: AnyFuture) {}

  /// Whether this waiter wants the value.
  package var isConsumer: Bool { true }

  /// Whether this waiter is told when the operation has finished.
  package var waitsForFinish: Bool { false }
}
