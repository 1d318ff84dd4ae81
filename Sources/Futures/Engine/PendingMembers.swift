import Foundation
import Synchronization

/// Pending futures that belong to a queue, as one operation in it.
///
/// An operation queue walks all its operations that are not ready, at every
/// change, so pending futures must not sit in it one by one. The first few do,
/// by an operation each, which gives barriers their exact meaning; from then on
/// one operation stands for all that come. It is not ready as long as any of
/// them is pending, and it passes a cancellation on to each. So the queue is
/// empty when, and only when, all its futures are done.
///
///   open ── last member gone ──▶ closed: ready, started, finished
///
/// A member is not owned: a promise that is released leaves.
package final class PendingMembers: Operation, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private struct State {
    var members: [ObjectIdentifier: FutureReference] = [:]
    var isClosed = false
    var isFinished = false
  }

  private let state = Lock(State())
  private let queueID: ObjectIdentifier

  /// The open ones of each queue.
  private static let open = Lock<[ObjectIdentifier: [PendingMembers]]>([:])

  /// How many operations of a queue may stand for one future each.
  private static let limit = 16

  private init(of queue: OperationQueue) {
    queueID = ObjectIdentifier(queue)
    super.init()
    name = "Pending futures"
  }

  /// Lets a future wait for its settlement as a member of a queue.
  static func add(_ reference: FutureReference, to queue: OperationQueue) -> Membership {
    while true {
      let id = ObjectIdentifier(queue)
      let (members, isNew) = open.withLock { open -> (PendingMembers, Bool) in
        let ofQueue = open[id, default: []]
        if ofQueue.count >= limit, let last = ofQueue.last { return (last, false) }
        let members = PendingMembers(of: queue)
        open[id, default: []].append(members)
        return (members, true)
      }
      let membership = Membership(of: members)
      let isIn = members.state.withLock { state -> Bool in
        if state.isClosed { return false }
        state.members[ObjectIdentifier(membership)] = reference
        return true
      }
      if isNew { queue.addReliably(members) }
      if isIn { return membership }
    }
  }

  /// Lets nobody who comes later share a place with those who are there.
  ///
  /// For a barrier, which waits for these and must not wait for the others.
  package static func close(_ queue: OperationQueue) {
    open.withLock { $0[ObjectIdentifier(queue)] = nil }
  }

  fileprivate func remove(_ id: ObjectIdentifier) {
    let isLast = state.withLock { state -> Bool in
      guard state.members.removeValue(forKey: id) != nil, state.members.isEmpty else {
        return false
      }
      state.isClosed = true
      return true
    }
    guard isLast else { return }
    Self.open.withLock { open in
      open[queueID]?.removeAll { $0 === self }
      if open[queueID]?.isEmpty == true { open[queueID] = nil }
    }
    post("isReady")
  }

  package override var isReady: Bool {
    unexplored { state.withLock { $0.isClosed } && super.isReady }
  }
  package override var isAsynchronous: Bool { true }
  package override var isFinished: Bool { unexplored { state.withLock { $0.isFinished } } }

  package override func start() {
    state.withLock { $0.isFinished = true }
    post("isFinished")
  }

  package override func cancel() {
    let members = state.withLock { Array($0.members.values) }
    for member in members { member.future?.cancel() }
  }
}

/// A future's place among the pending members of a queue; it ends when the
/// future settles or is released.
final class Membership: @unchecked Sendable {
  // Sendable: nothing changes.
  private let members: PendingMembers

  init(of members: PendingMembers) { self.members = members }

  deinit { end() }

  func end() { members.remove(ObjectIdentifier(self)) }
}

extension AnyFuture {
  /// Makes the future belong to a queue until it has settled; one that occupies
  /// its queue enters it.
  ///
  /// `false` if it belongs, or belonged, to one already.
  package final func join(_ queue: OperationQueue) -> Bool {
    if let behaviour { return behaviour.join(self, queue) }
    guard storage.join(queue) else { return false }
    if isFinished { return true }
    if traits.contains(.occupiesQueue) {
      let slot = QueueSlot(for: self)
      let tenancy = Tenancy(of: slot)
      if watch({ _ in tenancy.end() }) { queue.addReliably(slot) }
      return true
    }
    let membership = PendingMembers.add(reference, to: queue)
    if watch({ _ in membership.end() }) { return true }
    // It has settled, but not finished: its closure still runs.
    _ = FinishObserver(of: self) { _ in membership.end() }
    return true
  }
}
