import Foundation
import Synchronization

/// The common base class of all futures, whatever the type of their value.
///
/// Use it where futures of several types meet: to cancel them, to wait for them as
/// operations, to put them in a ``CancellationScope``. You cannot construct or subclass
/// it. Every ``Future`` is an `AnyFuture`.
///
/// Parameters `fileID` and `line` record the place in the source; leave them out.
open class AnyFuture: Operation, @unchecked Sendable {
  // Sendable: all mutable state is in `storage`, under its lock; the lock of the future
  // waited for guards `links`; the rest never changes.

  /// The kind of a future.
  ///
  /// Fixed when the future is made.
  @usableFromInline
  struct Traits: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt16
    @inlinable init(rawValue: UInt16) { self.rawValue = rawValue }
    /// The future's closure acts on values.
    @inlinable static var actsOnSuccess: Traits { Traits(rawValue: 1) }
    /// The future's closure acts on errors.
    @inlinable static var actsOnFailure: Traits { Traits(rawValue: 2) }
    /// The future's closure acts on cancellation.
    @inlinable static var actsOnCancellation: Traits { Traits(rawValue: 4) }
    /// The future passes the result of its upstream on at once.
    ///
    /// Its closure runs afterwards.
    static var isObserver: Traits { Traits(rawValue: 8) }
    /// Releasing the future before it settles has an effect.
    ///
    /// So the futures downstream must not own it.
    @usableFromInline static var mayBeReleasedPending: Traits { Traits(rawValue: 16) }
    /// The future's cancellation does not travel upstream.
    static var isShielded: Traits { Traits(rawValue: 32) }
    /// The future does its work in a slot of its queue.
    ///
    /// It is ready from the beginning, and executes until it has settled.
    static var occupiesQueue: Traits { Traits(rawValue: 64) }
    /// The future's closure needs no hop, so its context need not be read.
    static var runsInline: Traits { Traits(rawValue: 128) }
    /// A timer settles the future if nothing else does.
    static var hasTimer: Traits { Traits(rawValue: 256) }
    /// The closure runs when the first waiter comes.
    @usableFromInline static var startsWhenObserved: Traits { Traits(rawValue: 512) }
    /// The source is one half of the work, and the future that the closure returns the other.
    ///
    /// Only for progress.
    static var worksInHalves: Traits { Traits(rawValue: 1024) }
    /// The future counts more or less than others where progress is joined.
    static var hasProgressWeight: Traits { Traits(rawValue: 2048) }
    /// The work that occupies the queue keeps the future while it runs.
    static var isKeptByWork: Traits { Traits(rawValue: 4096) }
    /// The future has the result of its upstream, and gets it after its closure has run.
    static var isCleanUp: Traits { Traits(rawValue: 8192) }
    /// The future has an async closure that runs on the main thread.
    ///
    /// Only for the search for waits that cannot end, and for explanations.
    static var runsOnMain: Traits { Traits(rawValue: 16384) }
    // The function of `OptionSet` is not inlined.
    @inlinable @inline(__always)
    func contains(_ other: Traits) -> Bool { rawValue & other.rawValue == other.rawValue }

    @usableFromInline static var actsAlways: Traits {
      [.actsOnSuccess, .actsOnFailure, .actsOnCancellation]
    }

    /// Whether the future has the failure of its upstream, and no closure that could
    /// change it.
    var passesFailureOn: Bool {
      !isDisjoint(with: [.isObserver, .isCleanUp, .isShielded, .hasProgressWeight])
    }

    @inline(__always)
    func acts(on outcome: Outcome) -> Bool {
      switch outcome {
      case .success: contains(.actsOnSuccess)
      case .failure: contains(.actsOnFailure)
      case .cancelled: contains(.actsOnCancellation)
      }
    }
  }

  // The first settlement writes `storedError` before the flag that lets other threads
  // read it. The property is here, and not beside the value, because a property that does
  // not depend on the value's type needs no metadata at run time.
  @exclusivity(unchecked) final var storedError: (any Error)?

  let storage: FutureStorage
  let traits: Traits
  package let birthplace: Birthplace
  /// The hooks of a future whose class is in another module.
  package let behaviour: (any FutureBehaviour)?
  @exclusivity(unchecked) final var links = WaiterLinks()
  /// The rarely used features that this future has been used with.
  let uses = Atomic<UInt16>(0)

  static let hasScheduling: UInt16 = 1
  static let hasDependencies: UInt16 = 2
  /// The object itself has to settle: its waiters must not bypass it.
  static let mustSettle: UInt16 = 4
  /// The future has failed while an observer of mistakes was installed.
  static let hasUnseenFailure: UInt16 = 8
  static let hasCompletionBlock: UInt16 = 16
  static let hasFinishWaiters: UInt16 = 32
  static let isWatched: UInt16 = 64
  /// Code has looked at the failure, or need not do so.
  static let mayLoseFailure: UInt16 = 128
  /// The thread that has finished the future releases the completion block, or has done so.
  static let releasesCompletionBlock: UInt16 = 256
  /// A thread is about to give the future itself to a queue.
  static let isBeingAdded: UInt16 = 512

  @usableFromInline
  init(
    traits: Traits, context: consuming ContextReference, upstream: consuming Upstream,
    work: consuming Work?, at birthplace: Birthplace, behaviour: (any FutureBehaviour)? = nil
  ) {
    self.behaviour = behaviour
    self.traits = if case .inline = context { traits.union(.runsInline) } else { traits }
    self.birthplace = birthplace
    storage = FutureStorage(
      upstream: consume upstream, work: consume work, context: consume context)
    super.init()
  }

  deinit {
    let uses = uses.load(ordering: .acquiring)
    if uses & Self.hasDependencies != 0 { forgetDependencies() }
    let isSeen = Self.hasUnseenFailure | Self.mayLoseFailure
    if uses & isSeen == isSeen { watchedFailure?.look() }
  }

  // MARK: The result

  /// Whether the future has settled.
  public final var isFulfilled: Bool { isSettled }

  @inline(__always)
  package final var isSettled: Bool { storage.flags.contains(.settled) }

  /// How the future has settled.
  ///
  /// Meaningless before.
  @inline(__always)
  package final var outcome: Outcome {
    let flags = storage.flags
    return flags.contains(.cancelled) ? .cancelled : flags.contains(.failed) ? .failure : .success
  }

  /// Whether the future has settled with a value.
  @usableFromInline
  package final var hasSucceeded: Bool { storage.flags.isSuccess }

  /// The place where the future was made, and the type of its value.
  public final var createdAt: CreationSite { birthplace.site(of: valueType) }

  /// Makes a failed future of the same type with the same place of creation.
  func makeFailed(_ error: any Error) -> AnyFuture { self }

  /// The type of the promised value.
  var valueType: Any.Type { Any.self }

  /// The error that the future has failed with, or `nil`.
  ///
  /// Reading it counts as looking at a failure.
  @inline(__always)
  package final var anyError: (any Error)? {
    guard let unseenError else { return nil }
    noteLook()
    return unseenError
  }

  /// The same error, without looking at a failure: for descriptions.
  @inline(__always)
  package final var unseenError: (any Error)? {
    guard isSettled, let bareError else { return nil }
    return bareError.read
  }

  /// The stored error, without the object that reports it if it is lost.
  @inline(__always)
  final var bareError: (any Error)? { watchedFailure?.error ?? storedError }

  /// The object that reports the failure if it is lost.
  @inline(__always)
  final var watchedFailure: WatchedFailure? {
    guard uses.load(ordering: .relaxed) & Self.hasUnseenFailure != 0 else { return nil }
    return storedError as? WatchedFailure
  }

  /// The error for a join of this settled future with others, which may be joined itself.
  ///
  /// Reading it counts as looking at a failure.
  final var errorToJoin: (any Error)? {
    guard let bareError else { return nil }
    noteLook()
    return bareError
  }

  /// Stores the error of a settlement.
  ///
  /// Only from within its `store`.
  package final func storeError(_ error: any Error) { storedError = error }

  // MARK: Settling

  /// Settles the future with an error.
  ///
  /// Returns `false` if it had settled before.
  @discardableResult
  @usableFromInline
  package final func settle(
    failure error: any Error, from origin: SettlementOrigin = .outside
  ) -> Bool {
    settle(error.isCancellation ? .cancelled : .failure, from: origin) {
      storedError = error is CancellationError ? ProperationsError.cancelled : error
    }
  }

  /// Settles the future like a settled future of the same type, or like a failed future
  /// of any type.
  ///
  /// Returns `false` if it had settled before.
  @discardableResult
  @inline(__always)
  package final func settle(like source: AnyFuture, from origin: SettlementOrigin) -> Bool {
    settle(source.outcome, from: origin) { copyResult(of: source) }
  }

  /// Stores the result of a settled future.
  ///
  /// Only from within the `store` of a settlement.
  final func copyResult(of source: AnyFuture) {
    if source.outcome == .success {
      copyValue(of: source)
    } else if traits.passesFailureOn {
      storedError = source.storedError
      noteSharing(failureOf: source)
    } else {
      storedError = source.bareError
      source.noteLook()
    }
  }

  /// Stores the value of a succeeded future of the same type.
  func copyValue(of source: AnyFuture) {}

  /// Runs a closure in a context when the future has settled.
  func observe(
    on context: ContextReference, at birthplace: Birthplace,
    _ handler: @escaping @Sendable ((any Error)?) -> Void
  ) {}

  /// Settles the future.
  ///
  /// `store` stores the result, and runs only for the first settlement.
  @discardableResult
  @usableFromInline
  package final func settle(
    _ outcome: Outcome, from origin: SettlementOrigin, storing store: () -> Void
  ) -> Bool {
    let keys = willSettle(outcome, from: origin)
    let isFirst = storage.settle(outcome, from: origin) {
      store()
      if outcome == .failure { noteFailure() }
    }
    guard isFirst else {
      didChange(keys)
      if origin == .closure { closureHasReturned() }
      return false
    }
    WorkLoop.withCurrent { $0.submit(self, settledBy: origin, announcing: keys) }
    return true
  }

  /// Fails the future because its producer or its closure was released.
  package final func breakPromise() {
    if settle(failure: ProperationsError.brokenPromise(createdAt: createdAt)) {
      reportBrokenPromise()
    }
  }

  // MARK: Life as an operation

  /// Whether the future has settled and finished as an operation.
  ///
  /// A future that has finished has a result. A future in no queue finishes when it settles,
  /// unless its closure runs: then it finishes when the closure has returned.
  open override var isFinished: Bool { unexplored { storage.flags.contains(.finished) } }

  /// Whether the future's own closure runs at this moment.
  ///
  /// A future that an operation queue holds as an operation does not count as executing
  /// before that queue has started it, even if its closure runs.
  ///
  /// An async closure of `Promises.async` counts from the moment at which the future is
  /// cancelled, because it takes no slot of a queue before.
  open override var isExecuting: Bool {
    unexplored {
      let flags = storage.flags
      return flags.contains(.executing)
        && (!flags.contains(.held) || traits.contains(.occupiesQueue))
    }
  }

  /// Whether the future's own closure runs, or its work has been started, wherever it is.
  @inline(__always)
  final var isRunning: Bool { storage.flags.contains(.executing) }

  /// Whether the future settled as cancelled.
  ///
  /// The reason is a call of `cancel()`, the cancellation of a future that it was made
  /// from, or a cancellation that its closure threw.
  open override var isCancelled: Bool { unexplored { storage.flags.contains(.cancelled) } }

  /// Always `true`: a future never needs a thread while it waits.
  open override var isAsynchronous: Bool { true }

  /// Whether a queue that holds the future may start, and so finish, it.
  ///
  /// It is `true` when the future has settled, its closure has returned, and its dependencies
  /// have finished.
  ///
  /// On Linux reading it has no visible effect. On Apple platforms the future cannot tell
  /// whether the reader is a queue that adopts it. If its `isReady` is read there while
  /// it is pending, the future publishes its result at once. It finishes as an operation
  /// when a queue starts it, or else a tenth of a second after it has settled. If a queue
  /// got the future by `addFuture(_:)` or by this module's `addOperation(_:)`, it never
  /// finishes before that queue has started it.
  open override var isReady: Bool {
    SchedulingPoints.suspend()
    defer { SchedulingPoints.resume() }
    var flags = storage.flags
    if isReadByNewQueue(flags) {
      storage.enqueue(isCertain: OperationState.isKnown(self))
      flags = storage.flags
    }
    // A queue starts an operation once, and the operation takes a slot from then on. So a
    // queue that holds the future is told when the closure has returned.
    let isDone =
      flags.contains(.executing) ? !flags.contains(.queued) : flags.contains(.settled)
    if traits.contains(.occupiesQueue) || isDone {
      // A cancelled operation does not wait for dependencies.
      return isFreeForFoundation
        && (flags.contains(.cancelled) || !(hasDependencies && storage.hasPendingDependencies))
    }
    return false
  }

  /// Whether the reader of `isReady` may be a queue that the future does not know yet.
  private final func isReadByNewQueue(_ flags: FutureStorage.Flags) -> Bool {
    if flags.contains(.finished) || flags.contains(.held) { return false }
    // What a placeholder or a person has started may still be put in a queue.
    if flags.contains(.queued) {
      return traits.contains(.occupiesQueue) && OperationState.isTakenButNotStarted(self)
    }
    return OperationState.isInQueue(self)
  }

  /// Whether no barrier of its queue is in front of the future, as Foundation counts it.
  ///
  /// It holds back cancelled futures too: on Linux a barrier keeps unowned pointers to the
  /// operations behind it.
  package final var isFreeForFoundation: Bool { unexplored { super.isReady } }

  /// Blocks the calling thread until the future has finished as an operation.
  ///
  /// ``Future/wait(timeout:)-(Duration?)`` waits until the future has settled, returns the value,
  /// and throws an error instead of trapping. A future that is cancelled settles at once, and
  /// finishes when its closure has returned, if that runs.
  /// On Apple's platforms Foundation's own method may raise the quality of service of the
  /// work. This method and `wait(timeout:)` do not.
  ///
  /// - Precondition: To settle and to finish, the future needs neither the calling queue nor
  ///   the calling closure. Otherwise the call would never return.
  open override func waitUntilFinished() {
    switch block(toFinish: true, deadline: nil) {
    case .done, .timedOut: break
    // `fatalError`, because `preconditionFailure` prints no message in optimised builds.
    case .needsOwnClosure:
      fatalError(
        "waitUntilFinished() would never return: it was called in the closure of this future, or "
          + "of a future that this one waits for. Return from the closure instead.")
    case .needs(let queue):
      fatalError(
        "waitUntilFinished() would never return: it blocks \(queue), which the future needs to "
          + "\(isSettled ? "finish" : "settle"). Await its value, or attach a handler.")
    }
  }

  /// Finishes a future that has settled in a queue.
  ///
  /// Queues call this method; there is no reason to call it yourself. The call does
  /// nothing on a future that has not settled. It does nothing on a future that a queue
  /// holds, unless that queue calls it.
  open override func start() {
    if !isSettled, !traits.contains(.occupiesQueue), behaviour == nil {
      // A queue that could not be told apart from other readers may start a future whose
      // closure runs. It starts it only once, so the machine remembers that.
      guard isRunning, storage.stage.isHeld, OperationState.isStarting(self) else { return }
    }
    // Foundation's queues on Linux break when other code starts an operation that they
    // hold.
    if storage.flags.contains(.queued), !OperationState.isStarting(self) { return }
    let keys = willStart()
    let finish = storage.start()
    didChange(keys)
    self.finish(finish, announced: keys)
  }

  /// Settles the future with ``ProperationsError/cancelled``, unless it has settled.
  ///
  /// Every future downstream settles the same way. The future upstream is asked to cancel
  /// as soon as it has no other consumer (see ``Future/shielded(fileID:line:)``), and a
  /// promise's producer is told (``Promise/onCancellationRequest(_:)``). Cancelling a
  /// settled future does nothing.
  open override func cancel() { settle(failure: ProperationsError.cancelled) }

  // MARK: Dependencies

  /// Makes the future's closure wait until another operation has finished.
  ///
  /// A closure that has started does not wait. A promise can be settled whatever its
  /// dependencies do; only a queue that holds it as an operation waits for them before it
  /// starts it. The future keeps the operation until the future has finished. It does
  /// not keep a promise: a promise that is dropped counts as finished.
  ///
  /// - Parameter operation: The operation that has to finish first. A future ignores a
  ///   dependency on itself, and a future that has finished ignores every dependency. A
  ///   future that is made to depend on a future that waits for it fails with
  ///   ``ProperationsError/cycle(createdAt:)``.
  open override func addDependency(_ operation: Operation) {
    guard operation !== self, !isFinished else { return }
    addEdge(to: operation)
  }

  /// Removes a dependency.
  ///
  /// If it was the last dependency that had not finished, the closure runs.
  ///
  /// - Parameter operation: The operation that no longer has to finish first.
  open override func removeDependency(_ operation: Operation) { removeEdge(to: operation) }

  /// The operations that have to finish first.
  ///
  /// The list is empty after the future has finished and its handler, if it has one to
  /// run, has run.
  open override var dependencies: [Operation] {
    hasDependencies ? storage.withDependencies { $0.operations } ?? [] : []
  }

  // MARK: Foundation's own properties

  /// Whether the name, the priority or the quality of service was ever set.
  package final var hasCustomScheduling: Bool {
    uses.load(ordering: .relaxed) & Self.hasScheduling != 0
  }

  private final func noteScheduling(_ change: (PlaceholderOperation) -> Void) {
    uses.bitwiseOr(Self.hasScheduling, ordering: .relaxed)
    if let placeholder = storage.placeholder { change(placeholder) }
  }

  /// A name for people; it appears in descriptions.
  open override var name: String? {
    get { super.name }
    set {
      super.name = newValue
      noteScheduling { $0.name = newValue }
    }
  }

  /// The name as Foundation stores it.
  ///
  /// Can be read in a `deinit`, after the properties of a user's subclass have gone.
  final var ownName: String? { super.name }

  /// The priority that the future's closure has in an operation queue.
  open override var queuePriority: Operation.QueuePriority {
    get { super.queuePriority }
    set {
      super.queuePriority = newValue
      noteScheduling { $0.queuePriority = newValue }
    }
  }

  /// The quality of service with which an operation queue runs the future's
  /// closure.
  open override var qualityOfService: QualityOfService {
    get { super.qualityOfService }
    set {
      super.qualityOfService = newValue
      noteScheduling { $0.qualityOfService = newValue }
    }
  }

  /// A closure that runs once, on any thread, when the future has finished as an
  /// operation.
  ///
  /// The future releases the closure after it has run, so a closure that captures the
  /// future makes no lasting reference cycle. As with any operation, a closure that is
  /// set after the future has finished does not run, and one that is set at that moment
  /// may not run. The future does not keep it.
  open override var completionBlock: (@Sendable () -> Void)? {
    get { super.completionBlock }
    set {
      // First, so that a thread that finishes the future meanwhile releases the block.
      uses.bitwiseOr(Self.hasCompletionBlock, ordering: .sequentiallyConsistent)
      if isFinished, newValue != nil { return }
      super.completionBlock = newValue
      pin()
      // That thread may have come before the block. Foundation does not use it any more.
      let uses = uses.load(ordering: .sequentiallyConsistent)
      if newValue != nil, uses & Self.releasesCompletionBlock != 0 { releaseCompletionBlock() }
    }
  }

  /// Posts that the operation has finished, unless that was announced with the change.
  @inline(__always)
  final func postFinished(announced: OperationKeys = []) {
    postUnlessAnnounced(.isFinished, announced)
    if OperationState.keepsCompletionBlock,
      uses.load(ordering: .relaxed) & Self.hasCompletionBlock != 0
    {
      uses.bitwiseOr(Self.releasesCompletionBlock, ordering: .sequentiallyConsistent)
      if !storage.flags.contains(.queued) { return releaseCompletionBlock() }
      // The thread of the queue that has started the future may have seen already that it has
      // finished, and reads the block only now, without a lock.
      DispatchQueue.global().asyncAfter(deadline: .now() + 1) { [weak self] in
        self?.releaseCompletionBlock()
      }
    }
  }

  private final func releaseCompletionBlock() {
    // Foundation would release the block while it holds its own lock.
    let block = super.completionBlock
    super.completionBlock = nil
    WorkLoop.current.discard(block as Any)
  }

  /// Whether an object is this future, or represents it among the dependencies of an
  /// operation.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Operation else { return false }
    return other === self || (other as? any FutureEquivalent)?.stands(for: self) == true
  }

  /// A hash that all objects equal to the future share.
  open override var hash: Int { ObjectIdentifier(self).hashValue }
}

/// An operation that is equal to a future.
protocol FutureEquivalent: Operation {
  /// The future, if it is still there.
  var represented: AnyFuture? { get }
  func stands(for future: AnyFuture) -> Bool
}
