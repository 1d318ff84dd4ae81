import Foundation

/// Reports that an operation that is not a future has finished, or was released, without
/// keeping the operation alive.
///
/// Foundation reports the end of an operation in two ways. A dependent operation
/// (`OperationObserver`) keeps the operation, which is right if the operation runs or is
/// in a queue. An operation that has not been started may be dropped. It gets a
/// completion block, which owns the watch. If the block is released without being called,
/// either another block has replaced it, and the watch wraps that block in turn; or the
/// operation was released.
///
/// A block that the user sets while the watch replaces another one may be lost. That is at
/// the first use of the watch, and in the moment after the user has set a block.
///
///   waiting ── the block is called ───────────────────────▶ over: finished
///    ▲ └─┬──── the block is released, the operation lives
///    └───┘
///   waiting ── the block is released with the operation ──▶ over: released
package final class OperationWatch: @unchecked Sendable {
  // Sendable: `state` has a lock; nothing else is written after init.

  /// Called with the finished operation, or with `nil` if the operation was released.
  package typealias Action = @Sendable (Operation?) -> Void

  private struct State {
    var actions: [Int: Action] = [:]
    var lastID = 0
    var ties: Ties?
    var isOver = false

    var isUsed: Bool { !actions.isEmpty || ties != nil }
  }

  private struct WeakWatch { weak var watch: OperationWatch? }

  private let state = Lock(State())
  private let id: ObjectIdentifier
  private weak var operation: Operation?

  // A serial queue gets a thread even if the global queues are blocked.
  private static let queue = DispatchQueue(label: "Properations.OperationWatch")

  /// The watches of operations that exist.
  private static let all = Lock<[ObjectIdentifier: WeakWatch]>([:])

  private init(_ operation: Operation) {
    id = ObjectIdentifier(operation)
    self.operation = operation
  }

  deinit {
    // Another watch may have taken the place since. It must not be released under the
    // lock.
    let other = Self.all.withLock { all in
      let other = all[id]?.watch
      if other == nil { all[id] = nil }
      return other
    }
    withExtendedLifetime(other) {}
  }

  /// Calls a closure when an operation has finished or was released, or at once if the
  /// operation has finished.
  ///
  /// - Returns: A registration that ends the watch early.
  package static func add(to operation: Operation, _ action: @escaping Action) -> Registration {
    let id: (OperationWatch, Int)? = use(operation) { watch, state in
      state.lastID += 1
      state.actions[state.lastID] = action
      return (watch, state.lastID)
    }
    guard let (watch, id) = id else {
      action(operation)
      return Registration {}
    }
    return Registration { [weak watch] in watch?.remove(id) }
  }

  /// Cancels a future when an operation has finished.
  ///
  /// Returns `false` if the operation has finished already.
  package static func tie(_ future: AnyFuture, to operation: Operation) -> Bool {
    let ties: Ties? = use(operation) { _, state in
      let ties = state.ties ?? Ties()
      state.ties = ties
      return ties
    }
    ties?.add(future)
    return ties != nil && !operation.isFinished
  }

  /// Changes the watch of an operation, and makes the watch if there is none.
  ///
  /// Returns `nil` if the operation has finished.
  private static func use<Outcome>(
    _ operation: Operation, _ body: (OperationWatch, inout State) -> Outcome
  ) -> Outcome? {
    while !operation.isFinished {
      let made = OperationWatch(operation)
      let watch = all.withLock { all in
        if let watch = all[made.id]?.watch { return watch }
        all[made.id] = WeakWatch(watch: made)
        return made
      }
      let outcome = watch.state.withLock { $0.isOver ? nil : body(watch, &$0) }
      if watch === made { made.start(operation) }
      if let outcome { return outcome }
      // Another watch may have taken the place. It must not be released under the lock.
      let last = all.withLock { all in
        let last = all[watch.id]?.watch
        if last === watch { all[watch.id] = nil }
        return last
      }
      withExtendedLifetime(last) {}
    }
    return nil
  }

  private func start(_ operation: Operation) {
    guard operation.mayBeDropped else {
      _ = OperationObserver(of: operation) { self.fire() }
      return
    }
    let keeper = Keeper(self)
    let block: @Sendable () -> Void = {
      keeper.previous?()
      keeper.watch.fire()
    }
    SchedulingPoints.handOff()
    // Foundation cannot read and replace a block in one step: one that the user sets in
    // between is lost. So nothing else happens in between.
    keeper.previous = operation.completionBlock
    operation.completionBlock = block
    // The operation may have finished before the block was set.
    if operation.isFinished { fire() }
  }

  private func blockIsReleased() {
    let isUsed = state.withLock { state in
      // A watch without a block takes no further action.
      if !state.isUsed { state.isOver = true }
      return state.isUsed
    }
    guard isUsed else { return }
    guard let operation else { return takeEnd()(nil) }
    // Not on this thread: Foundation releases the old block under the operation's lock.
    Self.queue.async { self.start(operation) }
  }

  /// Owned by the completion block alone.
  private final class Keeper: @unchecked Sendable {
    // Sendable: `previous` is written before the operation gets the block.
    let watch: OperationWatch
    /// The block that this one has replaced.
    var previous: (@Sendable () -> Void)?
    init(_ watch: OperationWatch) { self.watch = watch }
    deinit { watch.blockIsReleased() }
  }

  private func remove(_ id: Int) {
    let action = state.withLock { $0.actions.removeValue(forKey: id) }
    withExtendedLifetime(action) {}
  }

  private func fire() { takeEnd()(operation) }

  /// Ends the watch.
  ///
  /// Returns a closure that calls all actions.
  private func takeEnd() -> Action {
    let (actions, ties) = state.withLock { state in
      defer { state = State(isOver: true) }
      return (state.actions.sorted { $0.key < $1.key }.map(\.value), state.ties)
    }
    return { operation in
      for action in actions { action(operation) }
      // An operation that was released unfinished cancels nothing.
      if operation != nil { ties?.cancelAll() }
    }
  }
}
