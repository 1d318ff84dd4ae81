import Foundation

/// Makes a future from each element of a sequence, a bounded number at a time, and
/// collects their values in order.
///
/// One thread at a time *pumps*: while the limit allows, it takes elements and starts a
/// future for each. If a future settles on another thread meanwhile, that thread leaves a
/// note and does not pump. So neither the sequence nor the closure ever runs under the
/// lock, and inner futures that have settled already need no stack.
///
///   idle ── a future may start ──▶ pumping ── limit reached, or no element ──▶ idle
///                                    ▲  └── a note was left ──┐
///                                    └────────────────────────┘
///
/// If futures settle on other threads as fast as this one starts them, it would pump to the
/// end of the sequence. So after a while it hands the pump to a thread of the traversal's own.
final class Traversal<Elements: Sequence, Output: Sendable>: CallbackWaiter, Pump,
  @unchecked Sendable
where Elements.Element: Sendable {
  // Sendable: only the thread that pumps uses `iterator`; the rest is in `state`.
  private struct State {
    var values: [Output?] = []
    var errors: [Int: any Error] = [:]
    var pending: [Int: TraversalStep<Elements, Output>] = [:]
    /// The number of elements whose futures have settled.
    var endedCount = 0
    var isPumping = false
    var hasNote = false
    var isExhausted = false
    var isDone = false
  }

  /// The next step of the pumping thread.
  private enum Step {
    case take(Int)
    case stop
    case finish([Output?], [Int: any Error])
  }

  private let state = Lock(State())
  private var iterator: Elements.Iterator
  /// The number of elements, if the collection knows it without a walk.
  private let count: Int?
  private let limit: Int
  private let isFailingFast: Bool
  private let context: ContextReference
  private let birthplace: Birthplace
  private let transform: @Sendable (Elements.Element) throws -> Future<Output?>
  fileprivate let target: Future<[Output]>

  static func start(
    of elements: Elements, maxConcurrent limit: Int?, failingFast: Bool,
    on context: ContextReference, at birthplace: Birthplace,
    _ transform: @escaping @Sendable (Elements.Element) throws -> Future<Output?>
  ) -> Future<[Output]> {
    let target = Future<[Output]>(traits: [], at: birthplace)
    let traversal = Traversal(
      elements, max(1, limit ?? .max), failingFast, context, birthplace, transform, target)
    _ = target.storage.wait(for: .source(traversal))
    traversal.pump()
    return target
  }

  private init(
    _ elements: Elements, _ limit: Int, _ failingFast: Bool, _ context: ContextReference,
    _ birthplace: Birthplace,
    _ transform: @escaping @Sendable (Elements.Element) throws -> Future<Output?>,
    _ target: Future<[Output]>
  ) {
    isFailingFast = failingFast
    count = knownCount(of: elements)
    iterator = elements.makeIterator()
    self.limit = limit
    self.context = context
    self.birthplace = birthplace
    // Later elements start from the ends of earlier ones.
    self.transform = CarriedTaskLocals.bind(transform)
    self.target = target
  }

  /// The number of elements, beyond the limit, that a thread takes in one go if it has other
  /// work.
  private static var longestTurn: Int { 256 }

  private func pump() {
    let isMine = state.withLock { state in
      if state.isPumping {
        state.hasNote = true
        return false
      }
      state.isPumping = true
      return true
    }
    guard isMine else { return }
    // Without a limit, this call takes all elements. An inline closure is work of this thread.
    if case .inline = context { return pump(atMost: .max) }
    let (longest, isEndless) = limit.addingReportingOverflow(Self.longestTurn)
    pump(atMost: isEndless ? .max : longest)
  }

  private func pump(atMost longest: Int) {
    var count = 0
    while let index = nextPlace() {
      guard let element = WorkLoop.current.callOut({ iterator.next() }) else {
        state.withLock { state in
          state.isExhausted = true
          // The sequence had no element for the last index.
          _ = state.values.popLast()
        }
        continue
      }
      start(element, at: index)
      count += 1
      if count == longest {
        // Not one of the shared queues: their threads may all wait for further elements.
        let pump: any Pump = self
        return DispatchQueue(label: "traversal").async { pump.goOn() }
      }
    }
  }

  func goOn() { pump(atMost: .max) }

  /// Returns the index of the next element, if another future may start.
  ///
  /// Otherwise ends pumping, and settles the target if no future is pending.
  private func nextPlace() -> Int? {
    while true {
      let step: Step? = state.withLock { state in
        if state.isDone {
          state.isPumping = false
          return .stop
        }
        if !state.isExhausted, state.pending.count < limit {
          state.values.append(nil)
          return .take(state.values.count - 1)
        }
        if state.isExhausted, state.pending.isEmpty {
          state.isDone = true
          return .finish(state.values, state.errors)
        }
        if state.hasNote {
          state.hasNote = false
          return nil
        }
        state.isPumping = false
        return .stop
      }
      switch step {
      case nil: continue
      case .stop: return nil
      case .take(let index): return index
      case .finish(let values, let errors):
        if errors.isEmpty {
          target.settle(.success(values.compactMap { $0 }), from: .upstream)
        } else {
          let error = JoinedErrors(values.indices.map { errors[$0] })
          target.settle(failure: error, from: .upstream)
        }
        return nil
      }
    }
  }

  private func start(_ element: Elements.Element, at index: Int) {
    let transform = transform
    let future = Future<Elements.Element>(traits: [], at: birthplace)
    future.settle(.success(element))
    let inner = future.flattened(.actsOnSuccess, on: context, at: birthplace) {
      try transform($0.get())
    }
    let step = TraversalStep(index, of: self, for: inner)
    let isStillGoing = state.withLock { state in
      if !state.isDone { state.pending[index] = step }
      return !state.isDone
    }
    guard isStillGoing else { return inner.cancelIfUnwanted() }
    inner.attach(.callback(step))
    if target.isSettled {
      inner.detach(.callback(step), cancelling: true)
    } else if Graph.closesCycle(target, waitingFor: inner) {
      target.settle(
        failure: ProperationsError.cycle(createdAt: target.createdAt), from: .upstream)
      withdraw(cancelling: true)
    } else {
      // Only now: a watch walks upstream, and would never leave a cycle.
      target.wakeProgressWatches()
    }
  }

  fileprivate func stepHasSettled(_ index: Int, _ source: AnyFuture) {
    if isFailingFast, source.outcome != .success {
      if case ProperationsError.cycle(source.createdAt)? = source.anyError as? ProperationsError {
        // If the element's future waits for the target, the error names the target.
        target.settle(
          failure: ProperationsError.cycle(createdAt: target.createdAt), from: .upstream)
      } else {
        target.settle(like: source, from: .upstream)
      }
      withdraw(cancelling: true)
      return
    }
    let error = source.errorToJoin
    let step = state.withLock { state -> TraversalStep<Elements, Output>? in
      guard !state.isDone else { return nil }
      if let error {
        state.errors[index] = error
      } else {
        state.values[index] = unsafeDowncast(source, to: Future<Output?>.self).settledValue
      }
      state.endedCount += 1
      return state.pending.removeValue(forKey: index)
    }
    // Released after unlock.
    withExtendedLifetime(step) {}
    target.wakeProgressWatches()
    pump()
  }

  override var upstreams: [AnyFuture] {
    state.withLock { Array($0.pending.values) }.compactMap(\.future)
  }

  override var upstreamCount: Int { state.withLock { $0.pending.count } }

  override var needsAll: Bool { !isFailingFast }

  override var progressParts: ProgressParts? {
    guard let count else { return nil }
    let (ended, pending) = state.withLock { ($0.endedCount, Array($0.pending.values)) }
    let futures = pending.compactMap(\.future)
    // A collection may have more elements than it says.
    return ProgressParts(
      done: Double(ended), total: Double(max(count, ended + pending.count)),
      pending: futures.map { ($0, 1) }, mayGrow: true)
  }

  /// Starts no new futures, and cancels the pending ones.
  override func withdraw(cancelling: Bool) {
    let last = state.withLock { state in
      let last = state
      state.isDone = true
      state.values = []
      state.errors = [:]
      state.pending = [:]
      return last
    }
    for step in last.pending.values { step.future?.detach(.callback(step), cancelling: cancelling) }
    WorkLoop.current.discard(last)
  }
}

/// A traversal of any elements, as a closure for another thread may capture it.
private protocol Pump: AnyObject, Sendable {
  /// Goes on with the pump that another thread has handed over.
  func goOn()
}

/// Waits for one of the futures that a traversal has started.
private final class TraversalStep<Elements: Sequence, Output: Sendable>: InputWaiter,
  @unchecked Sendable
where Elements.Element: Sendable {
  // Sendable: nothing changes after init.
  private let traversal: Traversal<Elements, Output>
  private let index: Int

  init(_ index: Int, of traversal: Traversal<Elements, Output>, for future: AnyFuture) {
    self.traversal = traversal
    self.index = index
    super.init(of: future)
  }

  override var isDone: Bool { traversal.target.isSettled }
  override func deliver(_ source: AnyFuture) { traversal.stepHasSettled(index, source) }
  override var downstreams: [AnyFuture] { [traversal.target] }
}
