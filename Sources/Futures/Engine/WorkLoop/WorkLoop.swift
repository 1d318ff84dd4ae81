import Foundation

/// The work that one thread still has to do.
///
/// Settling calls no closure and tells no waiter. It appends a *step* to the work loop of
/// the thread. If no loop runs on the thread, one starts and takes steps until none is
/// left. So chains of any length need no stack. There are two queues:
///
/// - *steps*: library work. A step posts that an operation has finished, tells waiters,
///   hands continuations to their contexts, or cancels futures upstream.
/// - *inline continuations*: user closures that run where the future upstream settled.
///
/// User code runs on top of the loop in many places: a closure, a context's `execute`,
/// the `deinit` of an object that a closure captured. The loop therefore keeps no work
/// that a future may wait for in local variables. Everything that user code settles takes
/// effect before the call that settled it returns:
///
///   performing ── the step calls user code ──▶ calling out ── it settles ──▶
///       a nested loop takes all *steps*, also those of the outer loop
///   calling out ── about to block ──▶ a nested loop takes the inline
///       continuations too, and the batch's next place is given up
///
/// Otherwise inline continuations wait until the closure on top of the stack has
/// returned: closures run one after the other instead of nesting. A closure on the main
/// thread may serve a nested run loop before it returns, as a modal panel does. The work
/// loop then does the waiting work in a turn of that run loop (`NestedRunLoop`).
///
/// Each thread has one object, which only that thread uses. The file is long because its
/// functions share state that no other file may reach.
@usableFromInline
package final class WorkLoop {
  /// A step of library work.
  ///
  /// Its size is one pointer.
  private enum Step {
    /// The future has settled: deliver.
    case settled(AnyFuture)
    /// The future has no consumer any more: cancel it.
    case cancel(AnyFuture)
    /// Hand continuations to their contexts: a context has returned from `execute`.
    case handOff(Row)
  }

  private typealias Postponed = (continuation: Continuation, context: ContextReference)

  /// Continuations that wait until a context has returned from `execute`, or until the
  /// current step is over.
  ///
  /// The step hands over the first. If that asks a context, the others wait until this
  /// context has returned, so that each of n continuations is looked at once and not n times.
  private final class Row {
    var waiting: FIFO<Postponed>

    init(_ waiting: FIFO<Postponed>) { self.waiting = waiting }
  }

  /// A context whose `execute` is running.
  private struct Asked {
    let context: CustomContext
    /// The continuations that wait until `execute` has returned.
    var waiting: FIFO<Postponed>
    /// What asks the context for operations of its own then.
    var calls: [@Sendable () -> Void] = []
  }

  /// A user's closure that runs on this thread.
  private enum Inline {
    case continuation(Continuation)
    /// A closure that belongs to no future.
    case call(@Sendable () -> Void)
  }

  /// The future whose waiters are being told.
  private struct Telling {
    let source: AnyFuture
    let outcome: Outcome
    var waiters: WaiterList
  }

  /// An object that a step no longer needs.
  ///
  /// It is released between steps, because it may hold the last reference to a user's
  /// object.
  private enum Leftover {
    /// A continuation that was handed to its context.
    ///
    /// Its closure may have run already.
    case handedOff(Continuation, ContextReference)
    case other(Any)
  }

  /// A closure that runs on this thread.
  ///
  /// The loop that runs the closure keeps the future until its delivery.
  fileprivate struct Frame {
    let future: Unmanaged<AnyFuture>
    let isLink: Bool
    /// Whether the future cannot settle before the closure has returned.
    let holdsFutureUp: Bool
  }

  // Exclusivity needs no check: one thread uses these properties, and no access spans a
  // call that leads back here.
  @exclusivity(unchecked) private var steps = FIFO<Step>()
  @exclusivity(unchecked) private var inline = FIFO<Inline>()
  @exclusivity(unchecked) private var telling: Telling?
  /// The future whose own closure has just settled it.
  ///
  /// The loop delivers it before all `steps`.
  ///
  /// Not owned: its continuation, which is on the stack, owns it.
  @exclusivity(unchecked) private var settledByItself: Unmanaged<AnyFuture>?
  /// Whether a loop runs on this thread, further out on the stack.
  @exclusivity(unchecked) private var isRunning = false
  /// Whether library code is on top of the stack.
  ///
  /// The steps that it appends wait for the loop.
  @exclusivity(unchecked) private var isPerforming = false
  /// The closures that run on this thread, innermost last.
  @exclusivity(unchecked) private var frames: ContiguousArray<Frame> = []
  /// The futures whose ends wait for calls on this thread that run no closure of theirs.
  ///
  /// The callers keep them.
  @exclusivity(unchecked) private var heldUp: ContiguousArray<Unmanaged<AnyFuture>> = []

  /// Whether the loop belongs to the main thread.
  ///
  /// Read once, because the answer takes system calls.
  private let isOfMainThread = Thread.isMainThread
  /// Whether the next turn of the main run loop does the waiting work.
  @exclusivity(unchecked) private var awaitsRunLoop = false

  /// The operation whose change this thread is posting, on platforms that record it.
  @exclusivity(unchecked) var posting: ObjectIdentifier?

  /// The number of loops that are nested in the outermost one.
  @exclusivity(unchecked) private var nesting = 0

  /// The batches that run on this thread, innermost last.
  @exclusivity(unchecked) private var batches: ContiguousArray<Batch> = []
  /// The contexts whose `execute` is running, innermost last.
  @exclusivity(unchecked) private var asked: [Asked] = []
  /// Which entries of `asked` a continuation waits for: this one and the later ones.
  ///
  /// A context is asked again in its own `execute` if this thread is about to block there.
  @exclusivity(unchecked) private var firstAwaited = 0
  @exclusivity(unchecked) private var leftovers: [Leftover] = []

  /// Makes nested calls without recursion: one of these objects for each kind.
  private let trampolines = NestedCall.allCases.map { _ in Trampoline() }

  // MARK: The work loop of a thread

  /// How many loops may be nested.
  private static let deepest = 64

  /// How many contexts may be asked at a time, each in the `execute` of the previous one.
  private static let mostAsked = 16

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { pointer in
      // Optional on Linux, not on Darwin.
      let pointer: UnsafeMutableRawPointer? = pointer
      if let pointer { Unmanaged<WorkLoop>.fromOpaque(pointer).release() }
    }
    return key
  }()

  /// The work loop of the calling thread.
  package static var current: WorkLoop {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<WorkLoop>.fromOpaque(pointer).takeUnretainedValue()
    }
    let made = WorkLoop()
    pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
    return made
  }

  /// Passes the work loop of the calling thread to a closure.
  @inline(__always)
  static func withCurrent(_ body: (WorkLoop) -> Void) {
    guard let pointer = pthread_getspecific(key) else { return body(current) }
    Unmanaged<WorkLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
  }

  // MARK: Putting in

  /// Takes in a future that has settled.
  @inline(__always)
  func submit(
    _ future: AnyFuture, settledBy origin: SettlementOrigin, announcing keys: OperationKeys
  ) {
    if origin == .closure, let frame = frames.last, frame.runs(future),
      settledByItself == nil, steps.isEmpty, telling == nil
    {
      // The loop delivers the future next, when the closure has returned.
      settledByItself = Unmanaged.passUnretained(future)
      future.didSettle(keys)
      return
    }
    steps.append(.settled(future))
    // The observers find the delivery among the steps.
    future.didSettle(keys)
    // The closure returns after this call, and the loop that runs it goes on.
    if origin == .closure, let frame = frames.last, frame.runs(future) { return }
    goOn()
  }

  /// Continues the delivery of a future that held its delivery back.
  package func resumeDelivery(of future: AnyFuture) {
    steps.append(.settled(future))
    goOn()
  }

  /// Asks a future to cancel, without recursion.
  package func cancel(_ future: AnyFuture) {
    steps.append(.cancel(future))
    goOn()
  }

  /// Releases a user's object between the steps, not in the middle of one: a step keeps
  /// work that other threads may wait for.
  package func discard(_ value: consuming Any) {
    leftovers.append(.other(value))
    goOn()
  }

  /// Hands a continuation to its context between the steps.
  package func handOffLater(_ continuation: Continuation, to context: ContextReference) {
    var row = FIFO<Postponed>()
    row.append((continuation, context))
    submit(row)
  }

  /// Calls a closure whose continuations do not get the next place of a batch.
  @inline(__always)
  func aside(_ body: () -> Void) {
    nesting += 1
    body()
    nesting -= 1
  }

  /// Calls a closure and holds back all library work until the closure has returned.
  @inline(__always)
  package func perform(_ body: (WorkLoop) -> Void) {
    let wasPerforming = isPerforming
    isPerforming = true
    body(self)
    isPerforming = wasPerforming
    goOn()
  }

  /// Runs a continuation on this thread.
  package func runInline(_ continuation: consuming Continuation) {
    inline.append(.continuation(continuation))
    goOn()
  }

  /// Runs a continuation on this thread before the call returns.
  ///
  /// Only for a closure that has a slot of its context, and no closure of the library above
  /// it on the stack but the one that brought it there.
  package func runNow(_ continuation: Continuation) {
    let wasRunning = isRunning
    isRunning = true
    withExtendedLifetime(continuation) { run(continuation) }
    if !wasRunning { takeEverything() }
    isRunning = wasRunning
  }

  /// Runs a user's closure that makes no future on this thread.
  package func runInline(_ body: @escaping @Sendable () -> Void) {
    inline.append(.call(body))
    goOn()
  }

  /// Makes a call now, or when the previous call of its kind on this thread has returned.
  package func call(_ kind: NestedCall, _ body: @escaping () -> Void) {
    if !trampolines[kind.rawValue].call(body) { expectNestedRunLoop() }
  }

  // MARK: Nested run loops

  /// Plans a turn of the main run loop, because work has to wait until a closure on top
  /// of the stack has returned.
  private func expectNestedRunLoop() {
    if awaitsRunLoop || !isOfMainThread { return }
    awaitsRunLoop = true
    NestedRunLoop.expect { WorkLoop.current.nestedRunLoopTurns() }
  }

  private func nestedRunLoopTurns() {
    awaitsRunLoop = false
    flush()
  }

  // MARK: Taking out

  /// Takes steps.
  ///
  /// If a step is in progress, does nothing: the step leads back to the loop.
  @inline(__always)
  private func goOn() {
    if isPerforming { return }
    guard isRunning else { return run() }
    // Releasing an object may run code that releases another object, and so on. That must
    // not need an endless stack: the outer loops take the steps.
    guard nesting < Self.deepest else { return }
    nesting += 1
    takeSteps()
    nesting -= 1
    if !inline.isEmpty { expectNestedRunLoop() }
  }

  private func run() {
    isRunning = true
    takeEverything()
    isRunning = false
  }

  @inline(__always)
  private func takeEverything() {
    while true {
      takeSteps()
      guard let next = inline.popFirst() else { return }
      switch next {
      case .continuation(let continuation):
        withExtendedLifetime(continuation) {
          run(continuation)
          takeSteps()
        }
      case .call(let body): body()
      }
    }
  }

  /// Takes all steps.
  ///
  /// No object is released during a step, because its last reference may run the `deinit`
  /// of a user's object. Such objects are released between the steps.
  @inline(__always)
  private func takeSteps() {
    if let future = settledByItself.take() {
      future._withUnsafeGuaranteedRef { perform(deliveryOf: $0) }
    }
    while true {
      if !leftovers.isEmpty { releaseLeftovers() }
      if telling != nil {
        tellNext()
      } else if let step = steps.popFirst() {
        perform(step)
      } else {
        return
      }
    }
  }

  private func releaseLeftovers() {
    // Releasing may append new leftovers.
    let last = leftovers
    leftovers = []
    withExtendedLifetime(last) {}
  }

  @inline(__always)
  private func perform(_ step: consuming Step) {
    switch consume step {
    case .settled(let future):
      perform(deliveryOf: future)
      withExtendedLifetime(future) {}
    case .cancel(let future):
      isPerforming = true
      future.cancel()
      isPerforming = false
      withExtendedLifetime(future) {}
    case .handOff(let row):
      isPerforming = true
      while let first = row.waiting.popFirst() {
        handOff(first.continuation, to: first.context, before: row)
      }
      isPerforming = false
      withExtendedLifetime(row) {}
    }
  }

  @inline(__always)
  private func perform(deliveryOf future: AnyFuture) {
    isPerforming = true
    let remains = future.deliver(in: self)
    isPerforming = false
    _ = consume remains
  }

  /// Tells the waiters of a future that has settled, one by one.
  @inline(__always)
  func tell(_ waiters: consuming WaiterList, of source: AnyFuture, _ outcome: Outcome) {
    // An earlier telling is over, because deliveries are steps.
    telling = Telling(source: source, outcome: outcome, waiters: waiters)
  }

  private func tellNext() {
    guard let source = telling?.source, let outcome = telling?.outcome else { return }
    if let waiter = telling?.waiters.popFirst() {
      isPerforming = true
      let rest = source.tell(consume waiter, outcome, in: self)
      isPerforming = false
      _ = consume rest
      return
    }
    let late = source.storage.takeLateWaiters()
    if late.isEmpty { telling = nil } else { telling?.waiters = late }
  }

  // MARK: Calling user code

  /// Calls user code from within a step.
  @inline(__always)
  func callOut<Outcome>(_ body: () -> Outcome) -> Outcome {
    let wasPerforming = isPerforming
    isPerforming = false
    defer { isPerforming = wasPerforming }
    return body()
  }

  /// Makes calls that belong together, as for each of several tasks; inline handlers run when
  /// all are made, because a handler may wait for what a later call does.
  ///
  /// Observers of tasks run at once, and so do the steps of what they settle. The conclusions
  /// of tasks come afterwards, with the handlers. Within a step the steps wait, too, because the
  /// step keeps work that others may wait for: what an observer settles there takes effect
  /// after the step.
  package func beforeHandlers(_ body: () -> Void) {
    if isPerforming { return body() }
    perform { _ in callOutBeforeInline(body) }
  }

  /// Calls user code from within a step, while the inline closures that wait go on waiting,
  /// even if no loop runs yet.
  func callOutBeforeInline(_ body: () -> Void) {
    let wasRunning = isRunning
    isRunning = true
    callOut(body)
    isRunning = wasRunning
  }

  @inline(__always)
  private func run(_ continuation: borrowing Continuation) {
    frames.append(
      Frame(
        future: Unmanaged.passUnretained(continuation.future), isLink: continuation.isLink,
        holdsFutureUp: continuation.holdsFutureUp))
    callOut { releasingAutoreleased { continuation.run() } }
    frames.removeLast()
  }

  /// Makes a call that the end of a future waits for.
  package func holdUp(endOf future: AnyFuture, _ body: () -> Void) {
    heldUp.append(Unmanaged.passUnretained(future))
    body()
    heldUp.removeLast()
  }

  /// Whether the end of a future waits for a call on this thread, also after the future has
  /// settled.
  func holdsUp(endOf future: AnyFuture) -> Bool {
    heldUp.contains { $0.toOpaque() == Unmanaged.passUnretained(future).toOpaque() }
  }

  /// The futures whose closures or conditions run on this thread, or whose ends wait for it.
  var runningFutures: [AnyFuture] {
    frames.compactMap { $0.holdsFutureUp ? $0.future.takeUnretainedValue() : nil }
      + heldUp.map { $0.takeUnretainedValue() }
  }

  /// The futures whose handlers run on this thread.
  var futuresOfHandlers: [AnyFuture] {
    frames.compactMap { $0.holdsFutureUp ? nil : $0.future.takeUnretainedValue() }
  }

  /// The futures whose closures, conditions or handlers run on this thread.
  var futuresOfClosures: [AnyFuture] { frames.map { $0.future.takeUnretainedValue() } }

  /// Does all work that a future may wait for, or hands it to contexts.
  ///
  /// Called before this thread blocks, and by a nested run loop.
  package func flush() {
    for trampoline in trampolines { trampoline.flush() }
    // Without a loop there are steps only where an observer of a settlement runs or an event is
    // performed, and continuations that wait only in the `execute` of a context.
    guard isRunning || isPerforming || !asked.isEmpty else { return goOn() }
    callOutBeforeInline {
      nesting += 1
      let awaitedBefore = firstAwaited
      firstAwaited = asked.count
      for index in batches.indices { giveUpNext(ofBatch: index) }
      // A closure that runs here may block, too. So what waits stays where it is found,
      // until all of it is among the steps.
      for index in asked.indices { appendWaiting(of: index) }
      takeEverything()
      firstAwaited = awaitedBefore
      nesting -= 1
    }
  }

  /// Hands over what has kept its place in a queue that has got more slots meanwhile.
  ///
  /// Called while this thread blocks.
  func flushWhatIsKeptInVain() {
    if batches.contains(where: \.keepsNextInVain) { flush() }
  }

  // MARK: Contexts

  /// Gives a continuation the next place in the current batch, or hands it to its
  /// context.
  @inline(__always)
  func pass(_ continuation: Continuation, to context: ContextReference) {
    if takeNextInBatch(continuation, on: context) { return }
    handOff(continuation, to: context)
  }

  /// Runs a continuation on this thread, or asks its context to start it.
  func handOff(_ continuation: Continuation, to context: ContextReference) {
    handOff(continuation, to: context, before: nil)
  }

  /// - Parameter row: What waits behind the continuation.
  private func handOff(
    _ continuation: Continuation, to context: ContextReference, before row: Row?
  ) {
    switch context {
    case .inline:
      inline.append(.continuation(continuation))
      goOn()
    case .operationQueue(let queue):
      ask(context, toStart: continuation) {
        let operation = BatchOperation(continuation, on: context)
        if DiagnosticsHook.hears(.mainQueue), context.isMain {
          ClosureWatch.watch(closureOf: continuation.future, in: operation)
        }
        queue.addReliably(operation)
        #if !canImport(Darwin)
          if continuation.isLink {
            operation.passBarriers(neededFor: continuation.future, in: queue)
          }
        #endif
      }
    case .dispatchQueue(let queue):
      if DiagnosticsHook.hears(.mainQueue), context.isMain {
        ClosureWatch.watch(closureOf: continuation.future, in: nil)
      }
      ask(context, toStart: continuation) {
        SchedulingPoints.handOff()
        queue.async { WorkLoop.current.runBatch(continuation, on: context, placeholder: nil) }
      }
    case .custom(let custom):
      // A context may hold a lock in its `execute`, or start the operation there. So it
      // is asked again only after `execute` has returned. The limit is for a chain in
      // which each link has a context of its own that starts operations in `execute`.
      let isDeep = asked.count - firstAwaited >= Self.mostAsked
      if let index = askedIndex(of: custom) ?? (isDeep ? asked.count - 1 : nil) {
        asked[index].waiting.append((continuation, context))
        expectNestedRunLoop()
        return
      }
      asked.append(Asked(context: custom, waiting: row?.waiting ?? FIFO()))
      row?.waiting = FIFO()
      ask(context, toStart: continuation) {
        custom.context.execute(BatchOperation(continuation, on: context))
      }
      let waiting = endAsking()
      // The caller goes on with its row. So its continuations stay next to each other.
      if let row { row.waiting = waiting } else { submit(waiting) }
    }
  }

  @inline(__always)
  private func ask(
    _ context: ContextReference, toStart continuation: Continuation, _ body: () -> Void
  ) {
    closeBatch(to: context)
    callOut(body)
    leftovers.append(.handedOff(continuation, context))
  }

  /// Asks a context for an operation that runs no continuation.
  ///
  /// If this thread is asking the context already, nothing happens before that call has
  /// returned.
  ///
  /// - Parameters:
  ///   - start: Hands the operation to the context.
  ///   - later: Called instead, when this thread may ask.
  package func ask(
    _ context: ContextReference, _ start: () -> Void, orLater later: @escaping @Sendable () -> Void
  ) {
    guard case .custom(let custom) = context else { return start() }
    if let index = askedIndex(of: custom) {
      asked[index].calls.append(later)
      return expectNestedRunLoop()
    }
    asked.append(Asked(context: custom, waiting: FIFO()))
    start()
    submit(endAsking())
    goOn()
  }

  /// The entry of a context whose `execute` has to return before this thread asks again.
  ///
  /// (A slice of `asked` would make the caller's change copy all that waits.)
  private func askedIndex(of context: CustomContext) -> Int? {
    (firstAwaited..<asked.count).first { asked[$0].context.isSame(as: context) }
  }

  /// Forgets the context whose `execute` has returned; returns the continuations that have
  /// waited for that.
  private func endAsking() -> FIFO<Postponed> {
    appendCalls(of: asked.count - 1)
    return asked.removeLast().waiting
  }

  /// Lets the calls that wait for a context be made.
  private func appendCalls(of index: Int) {
    for call in asked[index].calls { inline.append(.call(call)) }
    asked[index].calls = []
  }

  /// Makes a step of the continuations that wait for a context.
  private func appendWaiting(of index: Int) {
    appendCalls(of: index)
    if asked[index].waiting.isEmpty { return }
    steps.append(.handOff(Row(asked[index].waiting)))
    asked[index].waiting = FIFO()
  }

  /// Makes a step of continuations that have waited.
  private func submit(_ waiting: FIFO<Postponed>) {
    if waiting.isEmpty { return }
    steps.append(.handOff(Row(waiting)))
    goOn()
  }

  // MARK: Batches

  /// Whether the innermost batch of the calling thread runs the closure of a future.
  package static func isPlaceOccupied(by future: AnyFuture) -> Bool {
    var isOccupied = false
    withCurrent { isOccupied = $0.placeholder?.current === future }
    return isOccupied
  }

  /// The contexts of the batches that run on this thread.
  var batchContexts: [ContextReference] { batches.map(\.context) }

  /// The operation that stands in a queue for the current batch.
  package var placeholder: (any BatchPlaceholder)? { batches.last?.placeholder }

  /// Gives a continuation the next place in the current batch, if the batch is on the
  /// continuation's context and the place is free.
  ///
  /// Only the loop that runs the batch gives its place away. If user code settles a
  /// future and may wait for it, the future's continuation goes to its context.
  @inline(__always)
  package func takeNextInBatch(
    _ continuation: @autoclosure () -> Continuation, on context: ContextReference
  ) -> Bool {
    let last = batches.count - 1
    guard last >= 0, batches[last].nesting == nesting, batches[last].isOpen(to: context) else {
      return false
    }
    batches[last].setNext(continuation())
    return true
  }

  /// Closes the current batch, if it is on this context, because a continuation goes to
  /// the context itself.
  ///
  /// Later continuations follow that one, which keeps their order.
  @inline(__always)
  private func closeBatch(to context: ContextReference) {
    let last = batches.count - 1
    if last >= 0, batches[last].context.isSame(as: context) { batches[last].close() }
  }

  /// Hands the continuation that has the next place of a batch to the context, unless it keeps
  /// the place.
  ///
  /// Runs it on this thread if the context has later continuations already.
  private func giveUpNext(ofBatch index: Int) {
    guard batches[index].giveUpNext(), let next = takeNext(ofBatch: index) else { return }
    guard batches[index].isFollowed else { return handOff(next, to: batches[index].context) }
    batches[index].placeholder?.current = next.isLink ? next.future : nil
    withExtendedLifetime(next) {
      run(next)
      // Delivers the future while the continuation owns it.
      takeSteps()
    }
  }

  /// Takes the continuation that runs next in a batch.
  private func takeNext(ofBatch index: Int) -> Continuation? {
    let next = batches[index].takeNext()
    // Calls user code, and so not while the batch is being changed.
    if next == nil { batches[index].takeDropped()?.abandon() }
    return next
  }

  /// Runs a continuation in a slot of its context, and then the continuations that take
  /// the next place in the same batch.
  package func runBatch(
    _ first: consuming Continuation, on context: ContextReference,
    placeholder: (any BatchPlaceholder)?
  ) {
    let wasRunning = isRunning
    isRunning = true
    let index = batches.count
    batches.append(Batch(on: context, placeholder, nesting: nesting))
    var current: Continuation? = first
    while let continuation = current.take() {
      withExtendedLifetime(continuation) {
        placeholder?.current = continuation.isLink ? continuation.future : nil
        let time = ClosureTime()
        run(continuation)
        time?.end(closureOf: continuation.future, on: context)
        batches[index].hasRunOne()
        // On top of a loop, inline continuations wait until that loop goes on.
        if !wasRunning {
          takeEverything()
        } else {
          takeSteps()
          if !inline.isEmpty { expectNestedRunLoop() }
        }
      }
      current = takeNext(ofBatch: index)
      // The cancellation may have come while no closure occupied the slot.
      if let next = current, next.isLink, placeholder?.isCancelled == true { next.future.cancel() }
    }
    placeholder?.current = nil
    batches.removeLast()
    // The release of the last closure may have settled futures with inline continuations.
    if !wasRunning { takeEverything() }
    isRunning = wasRunning
  }
}

extension WorkLoop.Frame {
  @inline(__always)
  func runs(_ other: AnyFuture) -> Bool {
    isLink && future.toOpaque() == Unmanaged.passUnretained(other).toOpaque()
  }
}
