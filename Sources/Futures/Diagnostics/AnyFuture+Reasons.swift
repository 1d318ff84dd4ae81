import Foundation

/// A future without upstream that code of the user settles.
private protocol SettledByProducer {}
extension Promise: SettledByProducer {}

extension AnyFuture {
  /// Whether a producer holds the future, and settles it.
  final var isPromise: Bool { self is any SettledByProducer }
}

extension AnyFuture {
  /// What the future waits for, apart from other futures.
  ///
  /// Each read takes one lock at a time, and none while it asks a queue or another operation.
  final func reasonsToWait(
    hasInputs: Bool, _ queues: inout QueueStates
  ) -> [FutureExplanation.Reason] {
    if isSettled { return [reasonOfSettled] }
    var reasons: [FutureExplanation.Reason] = []
    // A task that waits for its parts has no closure that runs.
    if isRunning, traits.contains(.occupiesQueue), !traits.contains(.isKeptByWork) {
      // It holds its slot until it settles, and not only while its closure runs.
      reasons.append(
        .init(
          .runningClosure, "Its closure is running, or has returned and nobody has settled it."))
    } else if isRunning || behaviour != nil && isExecuting && !hasInputs {
      reasons.append(.init(.runningClosure, "Its closure is running."))
    } else if let own = behaviour?.reasonsToWait(self) {
      reasons += own
    } else if let reason = reasonOfSlot(&queues) {
      reasons.append(reason)
    }
    for operation in pendingOperations.prefix(4) {
      reasons.append(.operation(operation))
    }
    if traits.contains(.hasTimer) {
      reasons.append(.init(.timer, "A timer settles it, unless it settles earlier."))
    }
    if case .source(let source) = storage.upstream, source is Timer {
      reasons.append(.init(.timer, "A timer settles it."))
    }
    if reasons.isEmpty, !hasInputs { reasons.append(reasonOfRoot) }
    return reasons
  }

  private final var reasonOfSettled: FutureExplanation.Reason {
    let end =
      switch outcome {
      case .success: "succeeded"
      case .failure: "failed"
      case .cancelled: "been cancelled"
      }
    // Read first, because another thread may finish the future meanwhile.
    let isRunning = isRunning
    if isFinished { return .init(.settled, "It has \(end).") }
    let rest = isRunning ? "its closure has returned" : "its queue starts it"
    return .init(.settled, "It has \(end), and finishes as an operation when \(rest).")
  }

  /// The slot or the context that the future's closure waits for.
  private final func reasonOfSlot(_ queues: inout QueueStates) -> FutureExplanation.Reason? {
    if let behaviour {
      if case .slot(let queue) = behaviour.need(of: self) { return .slot(of: queue, &queues) }
      return behaviour.awaited(by: self) == nil
        ? .init(.notStarted, "It has not been put in a queue.") : nil
    }
    if traits.contains(.occupiesQueue) {
      if hasDependencies, storage.hasPendingDependencies { return nil }
      if let queue = queueToOccupy { return .slot(of: queue, &queues) }
      return storage.flags.contains(.queued)
        ? .init(.unknown, "It waits for the queue that holds it to start it.")
        : .init(.notStarted, "It has not been put in a queue.")
    }
    if traits.contains(.startsWhenObserved), storage.contextToVisit != nil {
      return .init(.notStarted, "It is lazy, and starts when a consumer wants it.")
    }
    guard isReadyForContext else { return nil }
    if traits.contains(.runsOnMain) { return .slot(of: .main, &queues) }
    guard let context = storage.contextToVisit else { return nil }
    if context.isMain { return .slot(of: .main, &queues) }
    if let queue = context.queueOfSlots { return .slot(of: queue, &queues) }
    return .init(.context, "Its closure waits for \(Self.shortened(context.title)) to run it.")
  }

  private final var reasonOfRoot: FutureExplanation.Reason {
    if behaviour != nil {
      return .init(.unknown, "The task is in its queue and checks conditions, or is about to run.")
    }
    switch storage.upstream {
    case .none:
      // A resolver settles a future that is no promise, and that nothing releases before.
      return isPromise || !traits.contains(.mayBeReleasedPending)
        ? .init(.promise, "No producer has settled this promise.")
        : .init(.runningClosure, "Its async closure has not returned.")
    case .future, .reference:
      return .init(.unknown, "The future that it waits for has just settled.")
    case .source(let source):
      return source.reasonToWait
        ?? .init(.unknown, "It waits for a limit or a repetition that the library runs.")
    }
  }

  /// An operation, for people.
  static func title(of operation: Operation) -> String {
    if let future = operation as? AnyFuture { return "\(future.createdAt)" }
    let name = operation.name.map { " \"\(shortened($0))\"" } ?? ""
    let state =
      operation.isExecuting ? "executing" : operation.isReady ? "ready" : "not ready to start"
    return "the operation\(name) (\(type(of: operation)), \(state))"
  }

  /// What an operation of a queue does, for people.
  fileprivate static func titleOfWork(_ operation: Operation) -> String {
    guard operation is PlaceholderOperation, let future = work(of: operation) else {
      return title(of: operation)
    }
    return "the closure of \(future.createdAt)"
  }

  /// The future whose closure an operation runs first.
  fileprivate static func work(of operation: Operation) -> AnyFuture? {
    operation as? AnyFuture ?? operation.futuresInside.first
  }

  /// A future, for people.
  static func title(_ site: CreationSite, _ name: String?) -> String {
    (name.map { "\"\(shortened($0))\", " } ?? "") + site.description
  }

  /// A name that fits on a line of a log.
  ///
  /// One character may have any number of combining marks, so both are counted.
  static func shortened(_ name: String) -> String {
    let limited = Substring(name.unicodeScalars.prefix(320)).prefix(80)
    let line = limited.map { character -> Character in
      if character.isNewline { return " " }
      return character.unicodeScalars.allSatisfy(DrawnText.isAllowed) ? character : "\u{FFFD}"
    }
    return String(line) + (limited.endIndex == name.endIndex ? "" : "…")
  }
}

extension FutureExplanation.Reason {
  /// The reason of a future or a task that waits for an operation that is no future.
  package static func operation(_ operation: Operation) -> Self {
    Self(.operation, "It waits for \(AnyFuture.title(of: operation)) to finish.")
  }

  /// The reason of a closure or a task that waits for a slot of a queue.
  fileprivate static func slot(of queue: OperationQueue, _ queues: inout QueueStates) -> Self {
    let state = queues.state(of: queue)
    let isMain = queue === OperationQueue.main
    var text = "It waits for \(isMain ? "the main queue" : "the operation queue \"\(state.name)\"")"
    if state.isSuspended { text += ", which is suspended" }
    let slots = isMain ? "" : state.slotCount.map { " of \($0)" } ?? ""
    text += ": \(state.executingCount)\(slots) executing, \(state.waitingCount) waiting."
    for holder in state.holders { text += " A slot is held by \(holder)." }
    if !state.barriers.isEmpty {
      text += " Barriers that have not run: \(state.barriers.joined(separator: ", "))."
    }
    if isMain, state.executingCount == 0, !state.isSuspended {
      text += " If this lasts, the main thread does not return to its run loop, or never called "
      text += "dispatchMain()."
    }
    return Self(isMain ? .mainQueue : .queue, text, state)
  }
}

/// The queues that an explanation mentions, each read once, because many futures may wait for
/// one long queue.
struct QueueStates {
  private var states: [(queue: OperationQueue, state: FutureExplanation.QueueState)] = []

  fileprivate mutating func state(of queue: OperationQueue) -> FutureExplanation.QueueState {
    if let known = states.first(where: { $0.queue === queue }) { return known.state }
    let state = FutureExplanation.QueueState(of: queue)
    states.append((queue, state))
    return state
  }
}

extension FutureExplanation.QueueState {
  /// Reads the state of a queue.
  ///
  /// Asks operations of other code, so the caller holds no lock.
  fileprivate init(of queue: OperationQueue) {
    let operations = queue.operations
    let executing = operations.filter(\.isExecuting)
    name = AnyFuture.shortened(queue.name ?? "")
    isSuspended = queue.isSuspended
    let limit = queue === OperationQueue.main ? 1 : queue.maxConcurrentOperationCount
    slotCount = limit < 0 ? nil : limit
    executingCount = executing.count
    waitingCount = operations.count - executing.count
    var threads = Array(BlockedQueues.ThreadsInOrder(blocking: queue))
    var holders = executing.prefix(4).map { operation in
      let title = AnyFuture.titleOfWork(operation)
      let work = AnyFuture.work(of: operation)
      guard let thread = threads.firstIndex(where: { $0.running.contains { $0 === work } }),
        let awaited = threads.remove(at: thread).upstreams.first
      else { return title }
      return "\(title), which waits for \(awaited.createdAt)"
    }
    for thread in threads.prefix(4) {
      if let awaited = thread.upstreams.first {
        holders.append("a closure that waits for \(awaited.createdAt)")
      }
    }
    self.holders = holders
    barriers = queue.waitingBarriers(among: operations).prefix(4).map(AnyFuture.titleOfWork)
  }
}
