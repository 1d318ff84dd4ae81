import Foundation

// The parts of this module that differ between Apple's platforms and Linux. Each branch
// names the page of Apple's documentation whose contract it fulfills, and states the
// contract in our own words.
//
// `-DPROPERATIONS_AS_ON_DARWIN` builds these branches on Linux, as far as Foundation has
// the same calls there: `.ci/as-on-darwin` runs the tests with it. These branches cannot be
// built there:
//
// - What observes or posts: Foundation on Linux has no key-value observation. With the flag,
//   `KeyListeners` stands for it.
// - Completion blocks that Foundation drops: on Linux it keeps them.
// - Barriers, and dependencies of operations on futures: Foundation's own crash on Linux if
//   an operation is cancelled or released, so the library has replacements there.
// - Autorelease pools: Linux has none. With the flag, `AutoreleasePools` counts them.
//
// Elsewhere, `#if !canImport(Darwin)` is around code that only Linux needs. Where Apple's
// platforms need something else instead, it is in this file.

#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN

  /// The knowledge about an operation's life in queues: none on these platforms.
  ///
  /// "Operation", "KVO-Compliant Properties": any code may read and observe `isReady` and
  /// the other states, on any thread; queues are only one of the readers. Adding an
  /// operation to a queue calls none of the operation's methods. So every reader may be a
  /// queue.
  enum OperationState {
    static func isKnown(_ operation: Operation) -> Bool { false }

    /// Whether the reader of `isReady` may be a queue that adopts the operation.
    ///
    /// Key-value observation reads a property in the call that posts it. That reader is
    /// not a queue.
    static func isInQueue(_ operation: Operation) -> Bool {
      !WorkLoop.isPosting(operation)
    }

    /// Whether a queue has the operation, and has not started it: no property tells.
    ///
    /// "OperationQueue.addOperation(_:)": the queue calls none of the operation's methods.
    static func isTakenButNotStarted(_ operation: Operation) -> Bool { false }

    /// Whether observers hear of a change: they do so whether a queue has the operation or not.
    ///
    /// "Operation", "KVO-Compliant Properties": any code may observe the states, and hears
    /// of their changes.
    static func isAdopted(_ operation: Operation) -> Bool { true }

    /// Whether a queue that holds the operation is starting it.
    ///
    /// "Operation.start()": calling it on an operation that is in a queue is a mistake of
    /// the caller. So every call comes from the queue.
    static func isStarting(_ operation: Operation) -> Bool { true }

    /// Whether a queue would refuse the operation.
    ///
    /// "OperationQueue.addOperation(_:)": it throws for an operation that executes or has
    /// finished, and for one that is in another queue.
    static func isUsed(_ operation: Operation) -> Bool {
      operation.isExecuting || operation.isFinished
    }

    /// Whether an operation that has not been started may get another completion block.
    ///
    /// "Operation.completionBlock": it may be set at any time before the operation has
    /// finished. Foundation on Linux reads it under a lock that a queue holds.
    static func takesCompletionBlock(_ operation: Operation) -> Bool { !operation.isExecuting }
  }

  extension OperationKeys {
    /// The keys in the order in which they are announced.
    ///
    /// The order of the second posts is the reverse: `isFinished` is the last.
    fileprivate static let nested: [(key: OperationKeys, name: String)] = [
      (.isFinished, "isFinished"), (.isCancelled, "isCancelled"),
      (.isExecuting, "isExecuting"), (.isReady, "isReady"),
    ]
  }

  extension Operation {
    /// Announces that states of the operation are about to change.
    ///
    /// "Operation", "Methods to Override" and "KVO-Compliant Properties": a concurrent
    /// operation keeps its states itself, and posts every change of `isExecuting` and
    /// `isFinished`; the same goes for `isReady` and `isCancelled` where it replaces them.
    /// "NSObject.willChangeValue(forKey:)": it comes before the change and
    /// `didChangeValue(forKey:)` after it, on the same thread; pairs of several keys are
    /// nested.
    ///
    /// So the library decides what an event is going to change, announces it, makes the
    /// change under its lock, and posts the same keys again after unlock. Another thread
    /// may come in between: then the pair has announced a change that this thread has not
    /// made, and observers that read the value find the truth.
    package final func willChange(_ keys: OperationKeys) {
      tellObservers(of: keys) {
        for (key, name) in OperationKeys.nested where keys.contains(key) {
          postWillChange(name)
        }
      }
    }

    /// Ends what `willChange(_:)` began.
    package final func didChange(_ keys: OperationKeys) {
      tellObservers(of: keys) {
        for (key, name) in OperationKeys.nested.reversed() where keys.contains(key) {
          postDidChange(name)
        }
      }
    }

    /// Posts a change that could not be announced, or one that a queue may have missed.
    package final func post(_ keys: OperationKeys) {
      willChange(keys)
      didChange(keys)
    }

    /// Ends a pair that `willChange(.isReady)` began.
    package final func didBecomeReady(if hasChanged: Bool) { didChange(.isReady) }

    /// Posts nothing: `didBecomeReady(if:)` has.
    package final func postBlocked() {}

    /// Posts that the operation may have become ready.
    ///
    /// "Operation.isReady": an operation that computes the property itself posts its
    /// changes. No observer misses a post, so one is enough.
    package final func postReadiness() { post(.isReady) }

    /// Calls Foundation, and with it the code of the observers.
    private final func tellObservers(of keys: OperationKeys, _ body: () -> Void) {
      if keys.isEmpty { return }
      // Observers may call every function of the library.
      assert(!LockRank.isHeld, "observers were called under a lock")
      SchedulingPoints.handOff()
      let loop = WorkLoop.current
      let outer = loop.posting
      loop.posting = ObjectIdentifier(self)
      loop.callOut(body)
      loop.posting = outer
    }
  }

  // What the events change. Each function announces it, and returns the keys for
  // `didChange(_:)`.
  extension AnyFuture {
    /// A settlement is about to come.
    final func willSettle(_ outcome: Outcome, from origin: SettlementOrigin) -> OperationKeys {
      let (phase, isHeld) = storage.stage
      if phase.rawValue >= FutureStateMachine.Phase.settledWhileRunning.rawValue { return [] }
      var keys: OperationKeys = []
      if outcome == .cancelled, !isCancelled { keys.insert(.isCancelled) }
      // If the closure runs, the future goes on executing until the closure has returned.
      if phase == .runningInTask {
        keys.formUnion(keysOfRunning)
      } else if phase != .running || origin == .closure {
        let isExecuting = isExecuting
        if isExecuting { keys.insert(.isExecuting) }
        if !isExecuting || isHeld { keys.insert(.isReady) }
        if !isHeld { keys.insert(.isFinished) }
      }
      willChange(keys)
      return keys
    }

    /// The future has settled, and its delivery is a step of the work loop.
    final func didSettle(_ keys: OperationKeys) {
      didChange(keys)
      if !keys.contains(.isFinished), storage.hasFinishedBySettling { post(.isFinished) }
    }

    /// The closure is about to run.
    final func willRun() -> OperationKeys {
      guard storage.contextToVisit != nil else { return [] }
      return willChangeExecuting()
    }

    /// The future is about to wait for the source that its closure has returned.
    final func willWait() -> OperationKeys {
      guard storage.stage.phase == .running else { return [] }
      return willChangeExecuting()
    }

    private final func willChangeExecuting() -> OperationKeys {
      let keys = keysOfRunning
      willChange(keys)
      return keys
    }

    /// What changes when the future's closure begins to run.
    ///
    /// "Operation.isExecuting" and "Operation.start()": a queue that has an operation starts
    /// it, and the operation executes from then on. So for a queue that holds the future
    /// nothing changes. In no queue, a future that executes counts as ready. A reader that is
    /// perhaps a queue need not hear of that: it could only start the future too early.
    private final var keysOfRunning: OperationKeys {
      if storage.flags.contains(.held), !traits.contains(.occupiesQueue) { return [] }
      return storage.stage.isHeld ? .isExecuting : [.isExecuting, .isReady]
    }

    /// The closure of a future that has settled is about to return.
    final func willReturn() -> OperationKeys {
      let (phase, isHeld) = storage.stage
      guard phase == .settledWhileRunning else { return [] }
      var keys: OperationKeys = isExecuting ? .isExecuting : []
      keys.insert(isHeld ? .isReady : .isFinished)
      willChange(keys)
      return keys
    }

    /// A queue is about to start the future.
    final func willStart() -> OperationKeys {
      var keys: OperationKeys = []
      switch storage.stage.phase {
      case .settledInQueue: keys = .isFinished
      case .waiting where traits.contains(.occupiesQueue) && !isExecuting: keys = .isExecuting
      case .waiting, .runningInTask, .running, .settledWhileRunning, .finished: break
      }
      willChange(keys)
      return keys
    }

    /// Posts the effect of an event, if it was not foreseen: another thread came between
    /// the announcement and the event.
    final func postUnlessAnnounced(_ key: OperationKeys, _ announced: OperationKeys) {
      if !announced.contains(key) { post(key) }
    }
  }

  extension WorkLoop {
    /// Whether the calling thread is posting a change of an operation.
    package static func isPosting(_ operation: Operation) -> Bool {
      current.posting == ObjectIdentifier(operation)
    }
  }

  extension AnyFuture {
    /// Records that a queue is about to take the operation itself.
    ///
    /// "OperationQueue.addOperation(_:)": the operation stays in the queue until it has
    /// finished, and the queue calls `start()`. A future that is known to be in a queue
    /// finishes from `start()` only.
    final func willBeAdded(to queue: OperationQueue) {
      // A task queue does this itself, perhaps later.
      if queue is any SlotQueue { return }
      if let behaviour { return behaviour.willBeAdded(self, to: queue) }
      // The queue refuses an operation that executes. This one executes for the queue when
      // the queue has started it.
      let keys: OperationKeys = isExecuting ? keysOfRunning : []
      willChange(keys)
      noteEnqueued()
      didChange(keys)
    }

    /// Records that the future belongs to a queue of the library, and to no other.
    ///
    /// "OperationQueue.addOperation(_:)": an operation is in at most one queue, and adding
    /// it to a second one is an error. So a read of `isReady` is no queue's from now on.
    package final func belongsToTaskQueue() { _ = storage.join() }

    /// Records that a reader of `isReady` may have been a queue.
    ///
    /// "OperationQueue.addOperation(_:)": the operation stays in the queue until it has
    /// finished. "Operation", "KVO-Compliant Properties": other code reads the property,
    /// too. So the future waits for a queue to start it, but not for ever.
    package final func mayBeEnqueued() { storage.enqueue(isCertain: OperationState.isKnown(self)) }

    /// Puts a placeholder operation in a queue, which starts the future when the
    /// placeholder becomes ready.
    ///
    /// "OperationQueue.addOperation(_:)": an operation that is in another queue must not
    /// be added, and nothing tells whether it is in one. So the queue gets a placeholder.
    package final func takePlace(in queue: OperationQueue) {
      let operation = OccupyingOperation(for: self, in: queue)
      operation.setBlocked(true)
      storage.setPlaceholder(operation)
      // The queue keeps the future, as it would keep the operation itself.
      let registration = Registration { [self] in
        withExtendedLifetime(self) { operation.end() }
      }
      guard watch(.finished, { _ in registration.end() }) else { return registration.end() }
      // A future that is cancelled meanwhile also finishes when the queue starts it.
      if !watch({ _ in operation.setBlocked(false) }) { operation.setBlocked(false) }
      queue.addReliably(operation)
    }

    /// Lets the queue start the future, which has a slot by `takePlace(in:)`.
    ///
    /// "Operation.isReady": the queue starts an operation when the property becomes `true`.
    package final func placeBecomesReady() { storage.placeholder?.setBlocked(false) }
  }

#endif

#if canImport(Darwin)

  /// Observes that an operation has finished.
  ///
  /// "Operation", "KVO-Compliant Properties": `isFinished` may be observed by that key.
  /// The operation posts the change on the thread that finishes it.
  /// "NSObject.addObserver(_:forKeyPath:options:context:)": it retains neither object,
  /// and every registration is removed once.
  final class FinishObservation: NSObject, @unchecked Sendable {
    // Sendable: written before the registration, which orders the write before every
    // call.
    fileprivate weak var observer: OperationObserver?

    override func observeValue(
      forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
      context: UnsafeMutableRawPointer?
    ) {
      if (object as? Operation)?.isFinished == true { observer?.operationHasFinished() }
    }
  }

  extension OperationObserver {
    func beginListening(to operation: Operation) {
      observation.observer = self
      operation.addObserver(observation, forKeyPath: "isFinished", options: [], context: nil)
    }

    func endListening(to operation: Operation) {
      operation.removeObserver(observation, forKeyPath: "isFinished")
    }

    func hasFinishedListening(to operation: Operation) -> Bool { operation.isFinished }
  }

  extension Operation {
    fileprivate final func postWillChange(_ key: String) { willChangeValue(forKey: key) }

    fileprivate final func postDidChange(_ key: String) { didChangeValue(forKey: key) }
  }

  extension AnyFuture {
    /// Whether code may observe a future that no other object holds.
    ///
    /// "NSObject.observationInfo": it identifies all observers; without any it is `nil`.
    final var isObservedByKey: Bool { observationInfo != nil }
  }

  extension OperationState {
    /// Whether Foundation keeps the completion block after it was called.
    ///
    /// "Operation.completionBlock": it is set to `nil` when the block begins to run.
    static var keepsCompletionBlock: Bool { false }
  }

  extension Operation {
    /// Makes Foundation hold the operation back until a future has finished.
    ///
    /// "Operation.addDependency(_:)": the operation is not ready before the other one has
    /// finished, and keeps it in `dependencies`.
    final func depend(on future: AnyFuture) { addDependency(future as Operation) }

    /// "Operation.removeDependency(_:)": the operation no longer waits for the other one.
    final func dependNoLonger(on future: AnyFuture) { removeDependency(future as Operation) }
  }

  // "OperationQueue.addBarrierBlock(_:)": the block runs when all operations that are in the
  // queue have finished, and holds back those that are added later. It is not among
  // `operations`, so nothing tells what waits for it.
  extension OperationQueue {
    /// The closures of barriers that wait to run, as far as the queue tells them.
    func waitingBarriers(among operations: [Operation]) -> [Operation] { [] }

    /// The identities of the futures that wait for a barrier, as far as the queue tells
    /// them.
    func futuresBehindOwnBarriers(of running: [AnyFuture]) -> Set<ObjectIdentifier> { [] }

    /// Whether the queue tells what waits for its barriers.
    var hasBarrierOperations: Bool { false }
  }

#elseif PROPERATIONS_AS_ON_DARWIN

  /// Hears the posts of operations as key-value observers would: for tests on Linux, where
  /// Foundation has no observation, and its `willChangeValue(forKey:)` cannot be overridden.
  package enum KeyListeners {
    /// A listener gets the key, and whether the change is still to come.
    package typealias Listener = @Sendable (_ key: String, _ isPrior: Bool) -> Void

    private static let listeners = Lock<[ObjectIdentifier: Listener]>([:])
    /// Whether there was ever a listener: without any, posts need no lock.
    private static let isUsed = Atomic<Bool>(false)

    /// The operation's listener.
    ///
    /// Set it to `nil` before the operation is released.
    package static subscript(operation: Operation) -> Listener? {
      get {
        guard isUsed.load(ordering: .acquiring) else { return nil }
        return listeners.withLock { $0[ObjectIdentifier(operation)] }
      }
      set {
        isUsed.store(true, ordering: .releasing)
        // The old listener is released after unlock.
        let old = listeners.withLock { all in
          let old = all[ObjectIdentifier(operation)]
          all[ObjectIdentifier(operation)] = newValue
          return old
        }
        withExtendedLifetime(old) {}
      }
    }
  }

  extension Operation {
    fileprivate final func postWillChange(_ key: String) {
      KeyListeners[self]?(key, true)
      willChangeValue(forKey: key)
    }

    fileprivate final func postDidChange(_ key: String) {
      // Foundation on Linux believes that an operation which posts `isExecuting` belongs
      // to a queue, and stops the process when a queue gets it.
      if key != "isExecuting" { didChangeValue(forKey: key) }
      KeyListeners[self]?(key, false)
    }
  }

  extension AnyFuture {
    final var isObservedByKey: Bool { KeyListeners[self] != nil }
  }

#endif

#if canImport(Darwin)
  /// Runs a user's closure, and then releases the objects that it has autoreleased.
  ///
  /// "NSAutoreleasePool", "Threads": a thread that Cocoa did not make needs a pool of its
  /// own. A queue drains one after each operation, and one operation may run many closures.
  @inline(__always)
  package func releasingAutoreleased(_ body: () -> Void) { autoreleasepool(invoking: body) }
#elseif PROPERATIONS_AS_ON_DARWIN
  package func releasingAutoreleased(_ body: () -> Void) {
    AutoreleasePools.count += 1
    body()
    AutoreleasePools.count -= 1
  }

  /// The autorelease pools that Apple's platforms would have: for tests on Linux.
  package enum AutoreleasePools {
    private static let key = makeThreadKey()

    /// How many pools of the library are around the code that the calling thread runs.
    package fileprivate(set) static var count: Int {
      get { Int(bitPattern: pthread_getspecific(key)) }
      set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue)) }
    }
  }
#else
  @inline(__always)
  package func releasingAutoreleased(_ body: () -> Void) { body() }
#endif
