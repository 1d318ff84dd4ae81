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
package final class Drain {
  private var settlements = FIFO<(future: AnyFuture, settlement: Settlement)>()
  private var inlineJobs = FIFO<Job>()
  private var isDraining = false
  private var isInUserCode = false

  /// The slot on a context that this thread is in, if any, and the job that
  /// will be next in it.
  private var turn: (context: ContextReference, next: Job?)?

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

  // MARK: Putting in

  /// A future has settled.
  @inline(__always)
  func submit(_ settlement: Settlement, of future: AnyFuture, by origin: SettlementOrigin) {
    settlements.append((future, settlement))
    if !isDraining {
      drain()
    } else if isInUserCode, origin != .closure {
      // (A closure's own settlement is what its loop takes next.)
      carryOutSettlements()
    }
  }

  /// A user closure is to run where we are.
  func runInline(_ job: Job) {
    inlineJobs.append(job)
    if !isDraining { drain() }
  }

  // MARK: Taking out

  private func drain() {
    isDraining = true
    while true {
      carryOutSettlements()
      guard let job = inlineJobs.popFirst() else { break }
      run(job)
    }
    isDraining = false
  }

  private func carryOutSettlements() {
    // Taking the turn's next place is for continuations of what ran in the
    // turn, not for what its closure settles on the side while it runs (and
    // perhaps waits for).
    let wasInUserCode = isInUserCode
    isInUserCode = false
    while let (future, settlement) = settlements.popFirst() {
      future.carryOut(settlement, in: self, mayTakeTurn: !wasInUserCode)
    }
    isInUserCode = wasInUserCode
  }

  private func run(_ job: Job) {
    let wasInUserCode = isInUserCode
    isInUserCode = true
    job.run()
    isInUserCode = wasInUserCode
  }

  /// Before this thread blocks: nothing that others may wait for stays behind
  /// in it.
  package func flush() {
    guard isDraining else { return }
    carryOutSettlements()
    while let job = inlineJobs.popFirst() {
      run(job)
      carryOutSettlements()
    }
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
  var turnContext: ContextReference? { turn?.context }

  /// How many closures a turn may run, and for how long it may start new ones.
  private static let turnLimit = (jobs: 128, nanoseconds: UInt64(1_000_000))

  /// Gives a continuation the next place in the current turn, if that is on
  /// its context and the place is free.
  @inline(__always)
  func takeTurn(_ job: @autoclosure () -> Job, on context: ContextReference) -> Bool {
    guard let turn, turn.next == nil, turn.context.isSame(as: context) else { return false }
    self.turn?.next = job()
    return true
  }

  /// Runs a job in a slot of its context, and after it those of its
  /// continuations that want the same slot.
  func runTurn(_ first: Job, on context: ContextReference, slot: Turn?) {
    guard !isDraining else {
      // A context that starts operations where it is asked to. The loop below
      // us on the stack carries out what this settles.
      return run(first)
    }
    isDraining = true
    turn = (context, nil)
    let end = DispatchTime.now().uptimeNanoseconds &+ Self.turnLimit.nanoseconds
    var count = 0
    var current: Job? = first
    while let job = current {
      slot?.current = job.future
      run(job)
      while true {
        carryOutSettlements()
        guard let inline = inlineJobs.popFirst() else { break }
        run(inline)
      }
      current = turn?.next
      turn?.next = nil
      guard let next = current else { break }
      count += 1
      if count >= Self.turnLimit.jobs || DispatchTime.now().uptimeNanoseconds >= end
        || context.isSuspended
      {
        current = nil
        turn = nil
        next.handOff(to: context, in: self)
      }
    }
    slot?.current = nil
    turn = nil
    isDraining = false
  }
}

/// A queue of values that keeps its buffer.
private struct FIFO<Element> {
  private var elements: ContiguousArray<Element?> = []
  private var head = 0

  @inline(__always)
  mutating func append(_ element: Element) { elements.append(element) }

  @inline(__always)
  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head].take()
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: elements.capacity <= 1024)
      head = 0
    } else if head >= 1024, head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }
}
