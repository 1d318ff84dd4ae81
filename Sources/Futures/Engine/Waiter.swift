import Foundation

// Who waits for a future.
//
// A future keeps its waiters in a doubly linked list whose links live in the
// waiters themselves, so that attaching allocates nothing and leaving is O(1)
// wherever in the list one stands. All links of one list are guarded by the
// lock of the future that owns the list.

/// One that is told when a future settles.
@usableFromInline
package enum Waiter {
  /// A derived future; it becomes runnable.
  case future(AnyFuture)
  /// Library code of another kind: an awaiting task, an input of a join.
  case callback(CallbackWaiter)

  // The links, wherever they are. Plain reads and writes: a list operation
  // touches three or four of them, and an access to a whole struct through an
  // enum costs more than the operation.

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
  var isDemanding: Bool { standing == .demanding }
  func setDemanding() { standing = .demanding }

  /// Puts the waiter into a list, behind another one.
  @inline(__always)
  func enlist(after previous: UnownedWaiter?, isDemanding: Bool) {
    standing = isDemanding ? .demanding : .watching
    if let previous { self.previous = previous }
  }

  /// Takes the waiter out of its list, and hands out the one behind it.
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

  /// Whether nobody needs the result for this waiter any more, because it has
  /// settled otherwise.
  package var isDone: Bool {
    switch self {
    case .future(let future): future.isSettled
    case .callback(let callback): callback.isDone
    }
  }
}

/// The way back in the list, which must not own.
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

/// A waiter's place in the list of the future it waits for.
package struct WaiterLinks {
  enum Standing: UInt8 {
    case outside
    /// In a list, but only to watch: it does not keep the work upstream from
    /// being cancelled.
    case watching
    /// In a list, because it wants the value.
    case demanding
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

/// Waiters in the order in which they came.
package struct WaiterList {
  private(set) var first: Waiter?
  private(set) var last: UnownedWaiter?

  package init() {}

  package var isEmpty: Bool { first == nil }

  /// Whether there is only one, a future whose closure needs no hop.
  @inline(__always)
  var isOneInline: Bool {
    // (By the reference that does not own: no need to count.)
    guard case .future(let future)? = last else { return false }
    return future._withUnsafeGuaranteedRef {
      $0.links.previous == nil && $0.traits.contains(.runsInline)
    }
  }

  @inline(__always)
  mutating func append(_ waiter: Waiter, isDemanding: Bool) {
    waiter.enlist(after: last, isDemanding: isDemanding)
    if let last { last.waiter.next = waiter } else { first = waiter }
    last = waiter.unowned
  }

  /// Takes a waiter out, and says whether it wanted the value; `nil` if it is
  /// in no list.
  mutating func remove(_ waiter: Waiter) -> Bool? {
    guard waiter.isEnlisted else { return nil }
    let isDemanding = waiter.isDemanding
    let previous = waiter.previous
    let next = waiter.delist()
    if let previous { previous.waiter.next = next } else { first = next }
    if let next { next.previous = previous } else { last = previous }
    return isDemanding
  }

  /// Takes out the first waiter.
  ///
  /// Only for a list that nobody else reaches any more: the way back of the
  /// next one is not cut, and goes when that one is taken.
  @inline(__always)
  mutating func popFirst() -> Waiter? {
    guard let waiter = first.take() else { return nil }
    first = waiter.delist()
    return waiter
  }

  /// Hands out all waiters and forgets them.
  @inline(__always)
  mutating func take() -> WaiterList {
    let all = self
    self = WaiterList()
    return all
  }
}

/// A waiter that is not a future: library code that is told of a settlement.
///
/// `deliver(_:)` runs without any lock held and must not call user code.
@usableFromInline
package class CallbackWaiter: @unchecked Sendable {
  // Sendable: `links` is guarded by the lock of the future waited for;
  // subclasses argue for their own state.
  @exclusivity(unchecked) final var links = WaiterLinks()

  init() {}

  /// Called once, after `source` has settled.
  package func deliver(_ source: AnyFuture) {}

  /// Points the waiter at another future, because the one it waited for has
  /// gone and stands for `source` now.
  ///
  /// Called before it is attached there.
  package func retarget(_ source: AnyFuture) {}

  /// Whether nobody needs the result any more.
  package var isDone: Bool { false }

  /// Whether it is done because others wait in its place: somebody may still
  /// want the value.
  package var hasMovedOn: Bool { false }

  /// The futures waited for, as far as they still exist.
  package var inputs: [AnyFuture] { [] }

  /// The operation waited for, if it is not a future.
  package var operation: Operation? { nil }

  /// The future that this waiter works for has settled otherwise: stop
  /// waiting, and ask what is upstream to cancel if nobody else wants it.
  package func withdraw(cancelling: Bool) {}

  /// The future that this waiter works for must settle itself, although
  /// nobody may hold it.
  package func pin(_ target: AnyFuture) {}

  /// The future that this waiter works for is being released unsettled.
  package func targetIsReleased(waiters: WaiterList) {}

  /// Whether this waiter wants a value; one that only watches does not keep
  /// the work upstream from being cancelled.
  package var isDemanding: Bool { true }
}
