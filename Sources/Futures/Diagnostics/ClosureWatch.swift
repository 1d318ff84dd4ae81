import Foundation

/// Watches on behalf of the installed observer whether the main queue runs closures.
enum ClosureWatch {
  /// A closure that the main queue has got.
  private struct Waiting: Sendable {
    let birthplace: Birthplace
    let type: Any.Type
    let start = DispatchTime.now().uptimeNanoseconds
    /// Whether the main queue has not yet run the closure.
    let isWaiting: @Sendable () -> Bool

    var waited: Duration {
      .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds - start))
    }
  }

  /// One closure is watched at a time, and the latest one is the next.
  ///
  ///   idle ── a closure comes ──▶ watching ── it has run, and no closure waits ──▶ idle
  ///                                │    ▲
  ///                                └────┘ the limit is over: the latest closure is watched;
  ///                                       another limit comes: it counts for this closure
  private struct State: Sendable {
    var watched: Waiting?
    var latest: Waiting?
    /// The number of the limit; a timer of another one has no effect.
    var limit = 0
  }

  private static let state = Lock(State())

  /// Watches a closure that the main queue is about to get.
  ///
  /// - Parameter operation: The operation that stands in the main operation queue for the
  ///   closure; `nil` if the main dispatch queue gets the closure.
  static func watch(closureOf future: AnyFuture, in operation: Operation?) {
    // A block that stands beside the closure in the dispatch queue.
    let probe = operation == nil ? DispatchProbe(.main) : nil
    let closure = Waiting(birthplace: future.birthplace, type: future.valueType) {
      [weak operation] in
      if let probe { return !probe.hasRun }
      return operation.map { !$0.isExecuting && !$0.isFinished } ?? false
    }
    let limit = state.withLock { state -> Int? in
      guard state.watched == nil else {
        state.latest = closure
        return nil
      }
      state.watched = closure
      return state.limit
    }
    if let limit { watch(closure, for: DiagnosticsHook.mainQueueLimit, limit) }
  }

  /// Called when another limit has been installed, which may be shorter.
  static func limitHasChanged() {
    let (closure, limit) = state.withLock { state in
      state.limit += 1
      return (state.watched, state.limit)
    }
    guard let closure else { return }
    watch(closure, for: DiagnosticsHook.mainQueueLimit.map { $0 - closure.waited }, limit)
  }

  /// - Parameters:
  ///   - time: The rest of the limit; `nil` if there is no limit any more.
  ///   - limit: The number of the limit.
  private static func watch(_ closure: Waiting, for time: Duration?, _ limit: Int) {
    guard let time else {
      return state.withLock { if $0.limit == limit { $0 = State(limit: limit) } }
    }
    _ = Timer(after: time) { _ in
      guard state.withLock({ $0.limit }) == limit else { return }
      let isStalled = closure.isWaiting()
      if isStalled, DiagnosticsHook.hears(.mainQueue) {
        DiagnosticsHook.send {
          let report = StalledMainQueue(
            waited: closure.waited, createdAt: closure.birthplace.site(of: closure.type))
          return { $0.mainQueueDoesNotRun(report) }
        }
      }
      let next = state.withLock { state -> Waiting? in
        guard state.limit == limit else { return nil }
        // The same closure again, if no other has come and the main queue still stands still.
        let next = state.latest ?? (isStalled ? closure : nil)
        state = State(watched: next, limit: limit)
        return state.watched
      }
      guard let next else { return }
      // After a report, the next one comes a whole limit later.
      let time = DiagnosticsHook.mainQueueLimit
      watch(next, for: time.map { isStalled ? $0 : $0 - next.waited }, limit)
    }
  }
}

/// The time of a closure that runs while an observer of slow closures or a recorder listens.
package struct ClosureTime {
  private let began: UInt64
  private let start: UInt64

  /// Begins to measure; `nil` if nothing listens.
  @inline(__always)
  package init?() {
    guard DiagnosticsHook.hears([.slowClosures, .trace]) else { return nil }
    began = TraceRecorder.now
    start = DispatchTime.now().uptimeNanoseconds
  }

  /// Records a closure that has returned, and reports it if it was slow.
  package func end(closureOf future: AnyFuture, on context: ContextReference) {
    if TraceRecorder.isOn { TraceRecorder.record(closureOf: future, on: context, from: began) }
    let duration = DispatchTime.now().uptimeNanoseconds - start
    guard duration >= DiagnosticsHook.slowClosureLimit else { return }
    DiagnosticsHook.send {
      let report = SlowClosure(
        duration: .nanoseconds(Int64(clamping: duration)), createdAt: future.createdAt,
        context: context.title)
      return { $0.closureWasSlow(report) }
    }
  }
}

extension ContextReference {
  /// The context, for people.
  var title: String {
    if isMain { return "the main queue" }
    return switch self {
    case .inline: "the thread that settled its source"
    case .operationQueue(let queue): queue.nameInErrors
    case .dispatchQueue(let queue): "the dispatch queue \"\(queue.label)\""
    case .custom(let custom): queue?.nameInErrors ?? "\(type(of: custom.context))"
    }
  }
}
