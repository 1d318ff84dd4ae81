import Foundation

// The parts of this module that differ between Apple's platforms and Linux. Each branch
// names the page of Apple's documentation whose contract it fulfills, and states the
// contract in our own words.
//
// `-DPROPERATIONS_AS_ON_DARWIN` builds these branches on Linux, as far as Foundation has
// the same calls there: `.ci/as-on-darwin` runs the tests with it.

#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN

  /// The knowledge about an operation's life in queues: none on these platforms.
  ///
  /// "Operation", "KVO-Compliant Properties": any code may read and observe `isReady` and
  /// the other states, on any thread; queues are only one of the readers. Adding an
  /// operation to a queue calls none of the operation's methods. So every reader may be a
  /// queue.
  enum OperationState {
    static let isKnown = false

    /// Whether the reader of `isReady` may be a queue that adopts the operation.
    ///
    /// Key-value observation reads a property in the call that posts it. That reader is
    /// not a queue.
    static func isInQueue(_ operation: Operation) -> Bool {
      !WorkLoop.isPosting(operation)
    }

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

  extension Operation {
    /// Tells Foundation that a property of the operation has changed.
    ///
    /// "NSObject.willChangeValue(forKey:)": each call is paired with a call of
    /// `didChangeValue(forKey:)`, and the pairs are nested.
    package final func post(_ key: String) {
      SchedulingPoints.handOff()
      let loop = WorkLoop.current
      let outer = loop.posting
      loop.posting = ObjectIdentifier(self)
      willChangeValue(forKey: key)
      didChangeValue(forKey: key)
      loop.posting = outer
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
      if let behaviour { behaviour.willBeAdded(self, to: queue) } else { noteEnqueued() }
    }

    /// Records that the future belongs to a queue of the library, and to no other.
    package final func belongsToTaskQueue() { _ = storage.join() }

    /// Records that a reader of `isReady` may have been a queue.
    package final func mayBeEnqueued() { storage.enqueue(isCertain: OperationState.isKnown) }

    /// Puts a placeholder operation in a queue, which starts the future when the
    /// placeholder becomes ready.
    ///
    /// "OperationQueue.addOperation(_:)": an operation that is in another queue must not
    /// be added, and nothing tells whether it is in one. So the queue gets a placeholder.
    package final func takePlace(in queue: OperationQueue) {
      let operation = OccupyingOperation(for: self)
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

#endif

#if canImport(Darwin)
  /// Runs a user's closure, and then releases the objects that it has autoreleased.
  ///
  /// "NSAutoreleasePool", "Threads": a thread that Cocoa did not make needs a pool of its
  /// own. A queue drains one after each operation, and one operation may run many closures.
  @inline(__always)
  package func releasingAutoreleased(_ body: () -> Void) { autoreleasepool(invoking: body) }
#else
  @inline(__always)
  package func releasingAutoreleased(_ body: () -> Void) { body() }
#endif
