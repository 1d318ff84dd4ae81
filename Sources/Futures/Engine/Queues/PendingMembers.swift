import Foundation

/// Pending futures that belong to a queue, as one operation in the queue.
///
/// At every change an operation queue walks all its operations that are not ready. So
/// pending futures must not be in it one by one. Each of the first few futures has an
/// operation of its own, which gives barriers their exact meaning. One operation stands
/// for all further futures. It becomes ready when its last member has left, and passes a
/// cancellation on to each member. So the queue is empty if, and only if, all its futures
/// have finished.
///
///   open ── the last member has left, or the operation is cancelled ──▶ closed
///
/// A closed operation gets no further members. It is ready when the last one has left.
///
/// The operation does not own its members: a promise that is released leaves. Of a promise
/// that occupies the queue it owns the placeholder, which enters the queue when the promise
/// no longer waits for dependencies.
package final class PendingMembers: PlaceholderOperation, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private struct Member {
    let reference: FutureReference
    var operation: OccupyingOperation?
  }

  private struct State {
    var members: [Int: Member] = [:]
    var lastID = 0
    var isClosed = false
    /// Called once the last member has left.
    var whenEmpty: (@Sendable () -> Void)?
  }

  private let state = Lock(State())
  private let queueID: ObjectIdentifier

  private struct Open {
    /// The open operations of each queue.
    var lists: [ObjectIdentifier: [PendingMembers]] = [:]
    /// Those that are being added to each queue, unless a barrier has come meanwhile.
    var added: [ObjectIdentifier: Set<ObjectIdentifier>] = [:]
  }

  private static let open = Lock(Open())

  /// If a queue has this many operations, the last one takes all further futures.
  private static let limit = 16

  private init(of queue: OperationQueue) {
    queueID = ObjectIdentifier(queue)
    super.init()
    name = "Pending futures"
  }

  /// Makes a future a member of a queue until it has finished or is released.
  static func add(_ future: AnyFuture, to queue: OperationQueue) {
    let (members, id) = enlist(future, Member(reference: future.reference), in: queue)
    let registration = Registration { members.remove(id) }
    if !future.watch(.finished, { _ in registration.end() }) { registration.end() }
  }

  /// Makes the placeholder of a future that waits for dependencies a member of a queue.
  static func add(_ operation: OccupyingOperation, for future: AnyFuture, to queue: OperationQueue)
  {
    let member = Member(reference: future.reference, operation: operation)
    let (members, id) = enlist(future, member, in: queue)
    operation.wait(in: OccupyingOperation.Place(queue: queue, members: members, id: id))
    // A barrier that another thread has added meanwhile may have missed the operation.
    let isOpen = open.withLock { $0.lists[members.queueID]?.contains { $0 === members } == true }
    if !isOpen { operation.enterQueue() }
  }

  private static func enlist(
    _ future: AnyFuture, _ member: Member, in queue: OperationQueue
  ) -> (PendingMembers, id: Int) {
    let queueID = ObjectIdentifier(queue)
    let shared = open.withLock { open in
      open.lists[queueID].flatMap { $0.count >= limit ? $0.last : nil }
    }
    if let shared, let id = shared.insert(future, member) { return (shared, id) }
    let members = PendingMembers(of: queue)
    // The queue gets the operation before other threads may make their futures its
    // members. Changes that they then make to the queue have to reach these members.
    guard let id = members.insert(future, member) else { preconditionFailure("closed at birth") }
    let membersID = ObjectIdentifier(members)
    open.withLock { _ = $0.added[queueID, default: []].insert(membersID) }
    queue.addReliably(members)
    open.withLock { open in
      // Otherwise it may be in front of a barrier that has come meanwhile, and what comes behind
      // the barrier must not become its member.
      guard open.added[queueID]?.remove(membersID) != nil else { return }
      if open.added[queueID]?.isEmpty == true { open.added[queueID] = nil }
      open.lists[queueID, default: []].append(members)
    }
    return (members, id)
  }

  /// Closes the operations of a queue to further members, while a barrier is added.
  ///
  /// The barrier waits for the present members, and must not wait for later ones. So they are
  /// closed before the barrier is added and, because of other threads, once more afterwards.
  ///
  /// - Parameter addBarrier: Adds the barrier; gets what was closed before.
  static func close(
    _ queue: OperationQueue, whileAdding addBarrier: (_ closed: [PendingMembers]) -> Void
  ) {
    addBarrier(close(queue))
    _ = close(queue)
  }

  private static func close(_ queue: OperationQueue) -> [PendingMembers] {
    open.withLock { open in
      open.added[ObjectIdentifier(queue)] = nil
      return open.lists.removeValue(forKey: ObjectIdentifier(queue)) ?? []
    }
  }

  /// Returns the member's number, or `nil` if the operation gets no further members.
  private func insert(_ future: AnyFuture, _ member: Member) -> Int? {
    // First, because a barrier that finds the member may ask the future.
    future.storage.setMembers(self)
    return state.withLock { state in
      // A cancelled operation would not pass another cancellation on.
      if state.isClosed || isCancelled { return nil }
      state.lastID += 1
      state.members[state.lastID] = member
      return state.lastID
    }
  }

  func remove(_ id: Int) {
    let (member, isLast, whenEmpty) = state.withLock { state in
      guard let member = state.members.removeValue(forKey: id) else {
        return (Member?.none, false, (@Sendable () -> Void)?.none)
      }
      guard state.members.isEmpty else { return (member, false, nil) }
      state.isClosed = true
      return (member, true, state.whenEmpty.take())
    }
    withExtendedLifetime(member) {}
    guard isLast else { return }
    Self.open.withLock { open in
      open.lists[queueID]?.removeAll { $0 === self }
      if open.lists[queueID]?.isEmpty == true { open.lists[queueID] = nil }
    }
    becomeReady()
    whenEmpty?()
  }

  /// Calls a closure when the last member has left.
  ///
  /// Called once, by a queue that gets the operation.
  package func whenEmpty(_ body: @escaping @Sendable () -> Void) {
    let isEmpty = state.withLock { state in
      if !state.isClosed || !state.members.isEmpty { state.whenEmpty = body }
      return state.isClosed && state.members.isEmpty
    }
    guard isEmpty else { return }
    // The thread of the last member may not have come to it yet.
    becomeReady()
    body()
  }

  package override var occupants: [AnyFuture] {
    let members = state.withLock { $0.members }
    return members.sorted { $0.key < $1.key }.compactMap(\.value.reference.future)
  }

  /// The operations that enter the queue when their dependencies have finished.
  var operationsToCome: [OccupyingOperation] {
    let members = state.withLock { $0.members }
    return members.sorted { $0.key < $1.key }.compactMap(\.value.operation)
  }

  package override func cancelOccupants() {
    let members = state.withLock { Array($0.members.values) }
    for member in members { member.reference.future?.cancel() }
  }
}

extension AnyFuture {
  /// Makes the future belong to a queue until it has finished.
  ///
  /// A future that occupies its queue gets an operation that waits for a slot.
  ///
  /// Returns `false` if the future belongs, or belonged, to a queue already.
  ///
  /// - Parameters:
  ///   - isBarrier: Whether a future that occupies its queue is a barrier of it.
  ///   - isLate: Whether operations in the queue may depend on the future already.
  package final func join(
    _ queue: OperationQueue, asBarrier isBarrier: Bool = false, isLate: Bool = false
  ) -> Bool {
    if let behaviour { return behaviour.join(self, queue, implicitly: false) }
    guard storage.join() else { return false }
    if isFinished { return true }
    guard traits.contains(.occupiesQueue) else {
      PendingMembers.add(self, to: queue)
      return true
    }
    let operation = OccupyingOperation(for: self, in: queue)
    storage.setPlaceholder(operation)
    if hasDependencies { updatePlaceholder() }
    // A future that settles meanwhile and its operation would keep each other.
    guard watch({ _ in operation.end() }) else {
      operation.end()
      return true
    }
    if isBarrier {
      BarrierContext(queue: queue, isLate: isLate).execute(operation)
    } else if hasDependencies, storage.hasPendingDependencies {
      PendingMembers.add(operation, for: self, to: queue)
    } else if hasDependencies {
      queue.addReliably(operation)
    } else {
      // It has been ready since it was made: no readiness can get lost.
      SchedulingPoints.handOff()
      queue.addOperation(operation)
    }
    return true
  }
}
