// Who waits for a future.
//
// A future keeps its waiters in a doubly linked list whose links live in the
// waiters themselves, so that attaching allocates nothing and leaving is O(1)
// wherever in the list one stands. All links of one list are guarded by the
// lock of the future that owns the list.

/// One that is told when a future settles.
package enum Waiter {
  /// A derived future; it becomes runnable.
  case future(AnyFuture)
  /// Library code of another kind: an awaiting task, an input of a join.
  case callback(CallbackWaiter)

  @inline(__always)
  var links: WaiterLinks {
    get {
      switch self {
      case .future(let future): future.links
      case .callback(let callback): callback.links
      }
    }
    nonmutating _modify {
      switch self {
      case .future(let future): yield &future.links
      case .callback(let callback): yield &callback.links
      }
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
  var next: Waiter?
  var previous: UnownedWaiter?
  var isEnlisted = false
  /// Whether it wants the value; one that only watches does not keep the work
  /// upstream from being cancelled.
  var isDemanding = false
}

/// Waiters in the order in which they came.
package struct WaiterList {
  private(set) var first: Waiter?
  private var last: UnownedWaiter?

  package init() {}

  package var isEmpty: Bool { first == nil }

  @inline(__always)
  mutating func append(_ waiter: Waiter, isDemanding: Bool) {
    waiter.links.isEnlisted = true
    waiter.links.isDemanding = isDemanding
    if let last {
      waiter.links.previous = last
      last.waiter.links.next = waiter
    } else {
      first = waiter
    }
    last = waiter.unowned
  }

  /// Takes a waiter out, and says whether it wanted the value; `nil` if it is
  /// in no list.
  mutating func remove(_ waiter: Waiter) -> Bool? {
    guard waiter.links.isEnlisted else { return nil }
    let links = waiter.links
    waiter.links = WaiterLinks()
    if let previous = links.previous {
      previous.waiter.links.next = links.next
    } else {
      first = links.next
    }
    if let next = links.next {
      next.links.previous = links.previous
    } else {
      last = links.previous
    }
    return links.isDemanding
  }

  @inline(__always)
  mutating func popFirst() -> Waiter? {
    guard let waiter = first else { return nil }
    first = waiter.links.next
    waiter.links = WaiterLinks()
    if let first {
      first.links.previous = nil
    } else {
      last = nil
    }
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
package class CallbackWaiter: @unchecked Sendable {
  // Sendable: `links` is guarded by the lock of the future waited for;
  // subclasses argue for their own state.
  final var links = WaiterLinks()

  init() {}

  /// Called once, after `source` has settled.
  package func deliver(_ source: AnyFuture) {}

  /// Points the waiter at another future, because the one it waited for has
  /// gone and stands for `source` now. Called before it is attached there.
  package func retarget(_ source: AnyFuture) {}

  /// Whether nobody needs the result any more.
  package var isDone: Bool { false }

  /// Whether it is done because others wait in its place: somebody may still
  /// want the value.
  package var hasMovedOn: Bool { false }

  /// The futures waited for, as far as they still exist.
  package var inputs: [AnyFuture] { [] }

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
