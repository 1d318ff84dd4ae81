import Foundation

// All of this module that is another on Apple's platforms than on Linux. Each branch names
// the page of Apple's documentation whose contract it fulfils, and says it in our own words.
//
// `-DPROPERATIONS_AS_ON_DARWIN` builds these branches on Linux, as far as Foundation there
// has the same calls: `.ci/as-on-darwin` runs the tests with it.

#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN

  /// What is known of an operation's life in queues: here nothing.
  ///
  /// "Operation", "KVO-Compliant Properties": `isReady` and the other states may be read and
  /// observed by any code, on any thread; queues are only one reader of them. No method is
  /// called on an operation that is added to a queue. So every reader may be a queue.
  enum OperationState {
    static let isKnown = false

    /// Whether the reader of `isReady` may be a queue that takes the operation.
    ///
    /// Key-value observation reads a property in the call that posts it: that reader is
    /// none.
    static func isInQueue(_ operation: Operation) -> Bool {
      !WorkLoop.isPosting(operation)
    }

    /// Whether a queue that holds the operation is starting it.
    ///
    /// "Operation.start()": a call on an operation that is in a queue is a mistake of the
    /// caller. So a call comes from the queue.
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
    /// finished. (Foundation on Linux reads it under a lock that a queue holds.)
    static func takesCompletionBlock(_ operation: Operation) -> Bool { !operation.isExecuting }
  }

  extension Operation {
    /// Tells Foundation that a property of the operation has changed.
    ///
    /// "NSObject.willChangeValue(forKey:)": each call is paired with one of
    /// `didChangeValue(forKey:)`, in the order of a stack.
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
    /// Whether the calling thread posts a change of an operation.
    package static func isPosting(_ operation: Operation) -> Bool {
      current.posting == ObjectIdentifier(operation)
    }
  }

  extension AnyFuture {
    /// Notes that a queue is about to take the operation itself.
    ///
    /// "OperationQueue.addOperation(_:)": the operation stays in the queue until it has
    /// finished, and the queue calls `start()`. A future that is known to be in a queue
    /// finishes from `start()` only.
    final func willBeAdded(to queue: OperationQueue) {
      if let behaviour { behaviour.willBeAdded(self, to: queue) } else { noteEnqueued() }
    }

    /// Notes that the future belongs to a queue of the library, and so to no other one.
    package final func belongsToTaskQueue() { _ = storage.join() }

    /// Notes that some reader of `isReady` may have been a queue.
    package final func mayBeEnqueued() { storage.enqueue(isCertain: OperationState.isKnown) }

    /// Puts an operation in a queue that starts the future when that becomes ready.
    ///
    /// "OperationQueue.addOperation(_:)": an operation that another queue has must not be
    /// added, and nothing tells whether one has it. The queue gets a placeholder.
    package final func takePlace(in queue: OperationQueue) {
      let operation = OccupyingOperation(for: self)
      operation.setBlocked(true)
      storage.setPlaceholder(operation)
      // (The queue keeps the future, as it would keep the operation itself.)
      let registration = Registration { [self] in
        withExtendedLifetime(self) { operation.end() }
      }
      guard watch(.finished, { _ in registration.end() }) else { return registration.end() }
      // One that is cancelled meanwhile finishes when the queue starts it, too.
      if !watch({ _ in operation.setBlocked(false) }) { operation.setBlocked(false) }
      queue.addReliably(operation)
    }

    /// The future, which has a place by `takePlace(in:)`, may be started there.
    package final func placeBecomesReady() { storage.placeholder?.setBlocked(false) }
  }

#endif

#if canImport(Darwin)

  /// Hears that an operation has finished.
  ///
  /// "Operation", "KVO-Compliant Properties": `isFinished` may be observed by that key; the
  /// operation posts its change on the thread that finishes it. "NSObject.addObserver(_:
  /// forKeyPath:options:context:)": it keeps neither of the two, and every registration is
  /// taken back once.
  final class FinishObservation: NSObject, @unchecked Sendable {
    // Sendable: written before the registration, which orders it before every call.
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
