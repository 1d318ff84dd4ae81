import Foundation
import Synchronization

/// A future whose value's type does not matter: what all futures have in
/// common.
///
/// Use it where futures of several types meet: to cancel them, to wait for
/// them as operations, to put them in a ``CancellationScope``. You cannot
/// construct or subclass it; every ``Future`` is one.
open class AnyFuture: Operation, @unchecked Sendable {
  // Sendable: everything mutable is in `storage`, under its lock; the lock of the
  // future waited for guards `links`; the rest never changes.

  /// What kind of future this is; fixed when it is made.
  @usableFromInline
  struct Traits: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt16
    @inlinable init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Its closure wants values.
    @inlinable static var actsOnSuccess: Traits { Traits(rawValue: 1) }
    /// Its closure wants errors.
    @inlinable static var actsOnFailure: Traits { Traits(rawValue: 2) }
    /// Its closure wants to know of cancellation.
    @inlinable static var actsOnCancellation: Traits { Traits(rawValue: 4) }
    /// It passes the result of its upstream on at once; its closure runs afterwards.
    static var isObserver: Traits { Traits(rawValue: 8) }
    /// Releasing it before it settles has an effect: the futures downstream must not
    /// own it.
    @usableFromInline static var mayBeReleasedPending: Traits { Traits(rawValue: 16) }
    /// Its cancellation does not travel upstream.
    static var isShielded: Traits { Traits(rawValue: 32) }
    /// It does its work in a slot of its queue: ready from the beginning, executing
    /// until it is settled.
    static var occupiesQueue: Traits { Traits(rawValue: 64) }
    /// Its closure needs no hop, and so no look at its context.
    static var runsInline: Traits { Traits(rawValue: 128) }
    /// A timer of its own will settle it, if nothing else does.
    static var hasTimer: Traits { Traits(rawValue: 256) }
    /// Its closure runs when the first waiter comes.
    @usableFromInline static var startsWhenObserved: Traits { Traits(rawValue: 512) }
    // (The function of `OptionSet` is not inlined.)
    @inlinable @inline(__always)
    func contains(_ other: Traits) -> Bool { rawValue & other.rawValue == other.rawValue }

    @usableFromInline static var actsAlways: Traits {
      [.actsOnSuccess, .actsOnFailure, .actsOnCancellation]
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

  // The first settlement writes `storedError` before the flag that lets other
  // threads read it. It is here rather than beside the value because a property
  // that does not depend on the value's type needs no metadata at run time.
  @exclusivity(unchecked) final var storedError: (any Error)?

  let storage: FutureStorage
  let traits: Traits
  package let birthplace: Birthplace
  /// The hooks of a future whose class is in another module.
  package let behaviour: (any FutureBehaviour)?
  @exclusivity(unchecked) final var links = WaiterLinks()
  /// Features that this future has been used with, and most futures never are.
  let uses = Atomic<UInt8>(0)

  static let hasScheduling: UInt8 = 1
  static let hasDependencies: UInt8 = 2
  /// The object itself has to settle: it may not be bypassed.
  static let mustSettle: UInt8 = 4
  static let hasCompletionBlock: UInt8 = 16
  static let hasFinishWaiters: UInt8 = 32
  static let isWatched: UInt8 = 64

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
    if hasDependencies { forgetDependencies() }
  }

  // MARK: The result

  /// Whether the future has settled.
  public final var isFulfilled: Bool { isSettled }

  @inline(__always)
  package final var isSettled: Bool { storage.flags.contains(.settled) }

  /// How it has settled; meaningless before.
  @inline(__always)
  package final var outcome: Outcome {
    let flags = storage.flags
    return flags.contains(.cancelled) ? .cancelled : flags.contains(.failed) ? .failure : .success
  }

  /// Whether it has settled with a value.
  @usableFromInline
  package final var hasSucceeded: Bool { storage.flags.isSuccess }

  /// Where the future was made, and what type it promises.
  public final var createdAt: CreationSite { birthplace.site(of: valueType) }

  /// Makes a future of the same type, made at the same place, that has failed.
  func makeFailed(_ error: any Error) -> AnyFuture { self }

  /// The type of the promised value.
  var valueType: Any.Type { Any.self }

  /// The error it failed with, if it has.
  @inline(__always)
  package final var anyError: (any Error)? {
    guard isSettled, let storedError else { return nil }
    return (storedError as? ErrorsOfAlternatives)?.joined ?? storedError
  }

  /// Keeps the error of a settlement; only from within its `store`.
  package final func storeError(_ error: any Error) { storedError = error }

  // MARK: Settling

  /// Settles with an error.
  ///
  /// `false` if it had settled before.
  @discardableResult
  @usableFromInline
  package final func settle(
    failure error: any Error, from origin: SettlementOrigin = .outside
  ) -> Bool {
    settle(error.isCancellation ? .cancelled : .failure, from: origin) {
      storedError = error is CancellationError ? ProperationsError.cancelled : error
    }
  }

  /// Settles like a settled future of the same type, or of any type if that one
  /// failed.
  ///
  /// `false` if it had settled before.
  @discardableResult
  @inline(__always)
  package final func settle(like source: AnyFuture, from origin: SettlementOrigin) -> Bool {
    settle(source.outcome, from: origin) { copyResult(of: source) }
  }

  /// Keeps the result of a settled future; only from within the `store` of a settlement.
  final func copyResult(of source: AnyFuture) {
    if source.outcome == .success {
      copyValue(of: source)
    } else {
      storedError = source.storedError
    }
  }

  /// Keeps the value of a succeeded future of the same type.
  func copyValue(of source: AnyFuture) {}

  /// Runs a closure in a context once this has settled.
  func observe(
    on context: ContextReference, at birthplace: Birthplace,
    _ handler: @escaping @Sendable ((any Error)?) -> Void
  ) {}

  /// Settles; `store` keeps the result and runs only for the first.
  @discardableResult
  @usableFromInline
  package final func settle(
    _ outcome: Outcome, from origin: SettlementOrigin, storing store: () -> Void
  ) -> Bool {
    guard storage.settle(outcome, from: origin, storing: store) else {
      if origin == .closure { finish(storage.closureReturned()) }
      return false
    }
    WorkLoop.withCurrent { $0.submit(self, settledBy: origin) }
    return true
  }

  /// Fails the future because its producer, or its closure, is gone.
  package final func breakPromise() {
    settle(failure: ProperationsError.brokenPromise(createdAt: createdAt))
  }

  // MARK: Life as an operation

  /// Whether the future has settled and finished as an operation.
  ///
  /// A future that has finished has a result. For a future in no queue both
  /// become true together.
  open override var isFinished: Bool { unexplored { storage.flags.contains(.finished) } }

  /// Whether the future's own closure runs at this moment.
  open override var isExecuting: Bool { unexplored { storage.flags.contains(.executing) } }

  /// Whether the future settled as cancelled: by `cancel()`, because a future that
  /// it was made from was cancelled, or because its closure threw a cancellation.
  open override var isCancelled: Bool { unexplored { storage.flags.contains(.cancelled) } }

  /// Always `true`: a future never needs a thread while it waits.
  open override var isAsynchronous: Bool { true }

  /// Whether a queue that has the future may start, and so finish, it: once
  /// it has settled and its dependencies have finished.
  ///
  /// Reading it changes nothing that you see on Linux. On Apple platforms nothing tells
  /// whether the reader is a queue that takes the future. There a future whose `isReady` was
  /// read while it was pending publishes its result at once, but finishes as an operation
  /// when a queue starts it, or else a tenth of a second after it has settled. A future that
  /// a queue got by `addFuture(_:)` or by this module's
  /// `addOperation(_:)` never finishes before that queue has started it.
  open override var isReady: Bool {
    SchedulingPoints.suspend()
    defer { SchedulingPoints.resume() }
    let flags = storage.flags
    if !flags.contains(.finished), !flags.contains(.queued) {
      if OperationState.isInQueue(self) { storage.enqueue(isCertain: OperationState.isKnown) }
    }
    if traits.contains(.occupiesQueue) || flags.contains(.settled) || flags.contains(.executing) {
      // A cancelled operation waits for nothing; Foundation's own `isReady`
      // knows of barriers.
      if flags.contains(.cancelled) { return true }
      return super.isReady
        && !(hasDependencies && storage.hasPendingDependencies)
    }
    return false
  }

  /// Blocks the calling thread until the future has finished as an operation.
  ///
  /// ``Future/wait(timeout:)`` does the same, returns the value, and fails
  /// instead of trapping.
  ///
  /// - Precondition: The future needs neither the calling queue in order to
  ///   settle nor the closure that calls: that would never end.
  open override func waitUntilFinished() {
    switch block(until: .finished, deadline: nil) {
    case .done, .timedOut: break
    // (`fatalError`, because `preconditionFailure` says nothing in optimised
    // builds.)
    case .needsOwnClosure:
      fatalError(
        "waitUntilFinished() in the closure of the very future, or of one that it waits for, "
          + "would never return. Return from the closure instead.")
    case .needs(let queue):
      fatalError(
        "waitUntilFinished() on \(queue) for a future that needs \(queue) would never return. "
          + "Await its value, or attach a handler.")
    }
  }

  /// Lets a future that is in a queue finish there.
  ///
  /// Queues call this; there is no reason to call it yourself. The call does
  /// nothing on a future that has not settled, and, if it is not the queue's, on a
  /// future that a queue holds.
  open override func start() {
    guard isSettled || traits.contains(.occupiesQueue) || behaviour != nil else { return }
    // Foundation's queues on Linux break when other code starts an operation of theirs.
    if storage.flags.contains(.queued), !OperationState.isStarting(self) { return }
    finish(storage.start())
  }

  /// Settles the future with ``ProperationsError/cancelled``, unless it has
  /// settled.
  ///
  /// Everything downstream settles the same way. The future upstream is asked to
  /// cancel as soon as it has no other consumer (see
  /// ``Future/shielded(fileID:line:)``), and a promise's producer is told
  /// (``Promise/onCancellationRequest(_:)``). Cancelling a settled future does
  /// nothing.
  open override func cancel() { settle(failure: ProperationsError.cancelled) }

  // MARK: Dependencies

  /// Makes the future's closure wait until another operation has finished.
  ///
  /// A closure that has started does not wait. A promise can be settled whatever
  /// its dependencies do; only a queue that has it as an operation starts it after
  /// them. The future keeps the operation until that has finished, unless it is a
  /// promise: one that is dropped counts as finished.
  ///
  /// - Parameter operation: The operation that has to finish first. A future that is made
  ///   to depend on itself, or has finished, ignores it; one that is made to
  ///   depend on a future that waits for it fails with
  ///   ``ProperationsError/cycle(createdAt:)``.
  open override func addDependency(_ operation: Operation) {
    guard operation !== self, !isFinished else { return }
    addEdge(to: operation)
  }

  /// Takes a dependency back.
  ///
  /// If it was the last one that had not finished, the closure runs.
  ///
  /// - Parameter operation: The operation that need not finish any more.
  open override func removeDependency(_ operation: Operation) { removeEdge(to: operation) }

  /// The operations that have to finish first; none once the future itself
  /// has finished, and its handler, if one is to run, has run.
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
  /// The future releases it when it has run, so that a closure that captures the
  /// future makes no cycle for ever. A closure that is set when the future has
  /// finished does not run, as with any operation, and is not kept.
  open override var completionBlock: (@Sendable () -> Void)? {
    get { super.completionBlock }
    set {
      if isFinished, newValue != nil { return }
      super.completionBlock = newValue
      uses.bitwiseOr(Self.hasCompletionBlock, ordering: .sequentiallyConsistent)
      pin()
    }
  }

  /// Posts that the operation has finished.
  @inline(__always)
  final func postFinished() {
    post("isFinished")
    // (Foundation on Linux keeps the block.)
    if uses.load(ordering: .relaxed) & Self.hasCompletionBlock != 0 { releaseCompletionBlock() }
  }

  private final func releaseCompletionBlock() {
    // Foundation would release it while it holds its own lock.
    let block = super.completionBlock
    super.completionBlock = nil
    WorkLoop.current.discard(block as Any)
  }

  /// Whether an object is this future, or stands for it among the dependencies of an
  /// operation.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Operation else { return false }
    return other === self || (other as? any FutureEquivalent)?.stands(for: self) == true
  }

  /// The same for all objects that are equal to the future.
  open override var hash: Int { ObjectIdentifier(self).hashValue }
}

/// An operation that is equal to a future.
protocol FutureEquivalent: Operation {
  func stands(for future: AnyFuture) -> Bool
}
