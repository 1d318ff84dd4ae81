import Foundation

/// What one thread still has to do for futures that have settled on it.
///
/// Settling never calls anyone by itself: it puts its settlement here. If
/// nothing below on the stack is at it already, one loop takes settlements
/// until none is left, and so chains of any length need no stack. There are
/// two kinds of work:
///
/// - *settlements*: library work. Says that the operation has finished, hands
///   continuations to their contexts, settles those that have nothing to run.
/// - *inline jobs*: user closures that run where the future before settled.
///
/// A settlement made by a user closure is carried out before the closure's
/// call returns, as far as it is library work: a handler that settles a
/// promise and then blocks on a consumer in another queue must find that
/// consumer running. Inline closures wait until the closure is done.
///
/// One object per thread, only ever used by that thread.
@usableFromInline
package final class Drain {
  // Exclusivity is checked by reading: one thread, and no access spans a call
  // that could come back here.
  @exclusivity(unchecked) private var settled = FIFO<AnyFuture>()
  @exclusivity(unchecked) private var inlineJobs = FIFO<Job>()
  @exclusivity(unchecked) private var inlineCalls = FIFO<() -> Void>()
  @exclusivity(unchecked) private var isDraining = false
  @exclusivity(unchecked) private var isInUserCode = false
  /// The future whose closure runs on this thread, the innermost if there are
  /// several.
  @exclusivity(unchecked) private var running: ObjectIdentifier?
  /// The future whose closure has just settled it, before all in `settled`.
  ///
  /// Not owned: its job, which is on the stack, owns it.
  @exclusivity(unchecked) private var settledByItself: Unmanaged<AnyFuture>?
  /// Whether whoever runs the job keeps it until that has been delivered.
  @exclusivity(unchecked) private var isJobKept = false

  /// The slot on a context that this thread is in, if any.
  @exclusivity(unchecked) private var turn: ContextReference?
  /// The operation that has the slot, if one has.
  @exclusivity(unchecked) package private(set) var turnSlot: (any TurnSlot)?
  /// The job that will be next in that slot.
  @exclusivity(unchecked) private var nextInTurn: Job?
  /// What is left of the turn.
  @exclusivity(unchecked) private var allowance = TurnAllowance()

  /// Cancels what is inside of something: groups in groups in groups need no
  /// stack, and all of them have been asked when the outermost call returns.
  package let cancellations = Trampoline()

  // MARK: This thread's

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { pointer in
      // Optional on Linux, not on Darwin.
      let pointer: UnsafeMutableRawPointer? = pointer
      if let pointer { Unmanaged<Drain>.fromOpaque(pointer).release() }
    }
    return key
  }()

  /// The drain of the calling thread.
  package static var current: Drain {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<Drain>.fromOpaque(pointer).takeUnretainedValue()
    }
    let made = Drain()
    pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
    return made
  }

  /// Lends the drain of the calling thread, which keeps it until it ends:
  /// nobody else need.
  @inline(__always)
  static func withCurrent(_ body: (Drain) -> Void) {
    guard let pointer = pthread_getspecific(key) else { return body(current) }
    Unmanaged<Drain>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
  }

  // MARK: Putting in

  /// A future has settled.
  @inline(__always)
  func submit(_ future: AnyFuture, settledBy origin: SettlementOrigin) {
    if origin == .closure, isJobKept, isRunning(future), settled.isEmpty, settledByItself == nil {
      // What the loop takes next, when the closure has returned.
      settledByItself = Unmanaged.passUnretained(future)
      return
    }
    settled.append(future)
    if !isDraining {
      drain()
    } else if isInUserCode, origin != .closure {
      carryOutSettlements()
    }
  }

  /// A future that held its delivery back goes on with it.
  ///
  /// - Parameter isDelayed: Whether that may wait for the closure that runs on
  ///   this thread to return; otherwise it is as if it had settled just now.
  package func resumeDelivery(of future: AnyFuture, isDelayed: Bool = false) {
    if !isDelayed { return submit(future, settledBy: .outside) }
    settled.append(future)
    if !isDraining { drain() }
  }

  /// A future's closure is to run where we are.
  package func runInline(_ job: consuming Job) {
    inlineJobs.append(consume job)
    if !isDraining { drain() }
  }

  /// A user's closure that makes no future is to run where we are.
  package func callInline(_ body: @escaping () -> Void) {
    inlineCalls.append(body)
    if !isDraining { drain() }
  }

  // MARK: Taking out

  private func drain() {
    isDraining = true
    carryOutEverything()
    isDraining = false
  }

  @inline(__always)
  private func carryOutEverything() {
    while true {
      carryOutSettlements()
      if let job = inlineJobs.popFirst() {
        withExtendedLifetime(job) {
          run(job, isKept: true)
          carryOutSettlements()
        }
      } else if let call = inlineCalls.popFirst() {
        let wasInUserCode = isInUserCode
        isInUserCode = true
        call()
        isInUserCode = wasInUserCode
      } else {
        return
      }
    }
  }

  @inline(__always)
  private func carryOutSettlements() {
    // Taking the turn's next place is for continuations of what ran in the
    // turn, not for what its closure settles on the side while it runs (and
    // perhaps waits for).
    let wasInUserCode = isInUserCode
    isInUserCode = false
    if let future = settledByItself.take() {
      future._withUnsafeGuaranteedRef { $0.deliver(in: self, mayTakeTurn: !wasInUserCode) }
    }
    while let future = settled.popFirst() {
      future.deliver(in: self, mayTakeTurn: !wasInUserCode)
    }
    isInUserCode = wasInUserCode
  }

  @inline(__always)
  private func run(_ job: borrowing Job, isKept: Bool) {
    let outer = (isInUserCode, running, isJobKept)
    isInUserCode = true
    running = ObjectIdentifier(job.future)
    isJobKept = isKept
    job.run()
    (isInUserCode, running, isJobKept) = outer
  }

  /// Whether the slot that the calling thread is in runs a future's closure.
  package static func isTurnSlotOccupied(by future: AnyFuture) -> Bool {
    var isOccupied = false
    withCurrent { isOccupied = $0.turnSlot?.current === future }
    return isOccupied
  }

  /// Whether a future's closure is what this thread is in.
  func isRunning(_ future: AnyFuture) -> Bool { running == ObjectIdentifier(future) }

  /// Before this thread blocks: nothing that others may wait for stays behind
  /// in it.
  package func flush() {
    if isDraining { carryOutEverything() }
  }

  /// Runs library code that settles several futures, and carries out all of
  /// it afterwards in one go.
  package func batch(_ body: () -> Void) {
    guard !isDraining else { return body() }
    isDraining = true
    body()
    drain()
  }

  // MARK: Turns

  /// The context whose slot this thread is in.
  var turnContext: ContextReference? { turn }

  /// Gives a continuation the next place in the current turn, if that is on
  /// its context and the place is free.
  @inline(__always)
  package func takeTurn(_ job: @autoclosure () -> Job, on context: ContextReference) -> Bool {
    guard nextInTurn == nil, let turn, turn.isSame(as: context),
      allowance.allowsMore(on: context)
    else { return false }
    nextInTurn = job()
    return true
  }

  /// Runs a job in a slot of its context, and after it those of its
  /// continuations that want the same slot.
  package func runTurn(_ first: Job, on context: ContextReference, slot: (any TurnSlot)?) {
    guard !isDraining else {
      // A context that starts operations where it is asked to. The loop below
      // us on the stack carries out what this settles.
      return run(first, isKept: false)
    }
    isDraining = true
    turn = context
    turnSlot = slot
    allowance = TurnAllowance()
    var current: Job? = first
    while let job = current {
      withExtendedLifetime(job) {
        slot?.current = job.future
        run(job, isKept: true)
        allowance.count()
        carryOutEverything()
      }
      current = nextInTurn.take()
    }
    slot?.current = nil
    turn = nil
    turnSlot = nil
    isDraining = false
  }
}

/// How much longer a turn may go on: for 128 closures, or as long as it
/// started the last one within a millisecond.
///
/// Asked when the first continuation wants the next place, and not again until
/// the next closure has run: all continuations must go the same way, or their
/// order is lost. Most hops end without being asked, and never look at a
/// clock.
private struct TurnAllowance {
  private static let limit = (jobs: 128, nanoseconds: UInt64(1_000_000))

  private let start = DispatchTime.now().uptimeNanoseconds
  private var jobs = 0
  private var answer: Bool?

  /// A closure has run.
  @inline(__always)
  mutating func count() {
    jobs += 1
    answer = nil
  }

  @inline(__always)
  mutating func allowsMore(on context: ContextReference) -> Bool {
    if let answer { return answer }
    let isAllowed =
      jobs < Self.limit.jobs && !context.isSuspended
      && DispatchTime.now().uptimeNanoseconds &- start < Self.limit.nanoseconds
    answer = isAllowed
    return isAllowed
  }
}
