extension AnyFuture {
  /// How far the work behind the future has come at this moment.
  ///
  /// A producer reports with ``Promise/report(completed:of:)``, and the progress passes through
  /// the combinators:
  ///
  /// - A future with one source has the progress of its source, in the same units.
  /// - A closure of `mapToFuture` that makes another future is the second half of the work: its
  ///   source counts for one half, and the inner future for the other.
  /// - A future of `and`, `combine`, `collect` or `collectResults` has the mean of its inputs. An
  ///   input that has settled counts as complete, whether it has succeeded or not.
  ///   ``Future/withProgressWeight(_:fileID:line:)`` lets an input count more than others.
  /// - A traversal of a random-access collection whose indices are integers (an array, a range)
  ///   has the mean of its elements. Those that have not begun count zero.
  /// - Work that begins in a place, such as that of ``Promises/lazy(on:fileID:line:_:)`` or in a
  ///   permit, has the progress of the future that its closure returns.
  /// - A race, ``Promises/first(_:of:cancellingLosers:fileID:line:)`` and a hedge have the
  ///   progress of the inputs that are furthest. It never falls below a value that was read.
  /// - ``Promises/find(in:on:fileID:line:where:)`` in such a collection is like a
  ///   traversal. Other loops are indeterminate, and count their completed turns.
  /// - A typed task, and a future of an async closure, have the progress that their own work
  ///   reports (``Promises/report(completed:of:)``). Operators of tasks are like the combinators.
  /// - ``Promises/retry(_:on:fileID:line:_:)`` has the progress of the attempt that runs.
  /// - Traversals of other sequences do not tell how far they are. They are indeterminate until
  ///   they have settled.
  ///
  /// A future that has succeeded is complete. One that has failed or was cancelled is
  /// indeterminate.
  ///
  /// - Complexity: O(the number of pending futures upstream and of their inputs); O(n log n) for
  ///   the n inputs of a race. Nothing is stored for a future whose producer does not report.
  public final var currentProgress: FutureProgress {
    if isSettled { return outcome == .success ? .complete(of: reportedTotal) : .unknown }
    return ProgressWalk(from: self).progress
  }

  /// The total that the future's own producer has reported last.
  private final var reportedTotal: Int64? { storage.progressState.report?.total }

  /// The progress of the future, whenever it changes.
  ///
  /// ```swift
  /// for await progress in future.progressUpdates {
  ///   bar.value = progress.fractionCompleted
  /// }
  /// ```
  ///
  /// Iteration begins with the present value (see ``currentProgress``), and delivers the newest
  /// value only: a consumer that is slower than the reports skips some. A fraction never falls,
  /// unless a producer corrects its total. So a recovery or an attempt that begins anew is
  /// silent until it is further than the work before it. When the future succeeds, the last
  /// value is complete; it comes once. When the future fails or is cancelled, the iteration
  /// ends without another value.
  ///
  /// Each iteration is independent of the others. It wants no value: it starts no lazy future,
  /// keeps no pending promise and no task alive, and does not prevent a cancellation. It keeps
  /// any other future. Cancelling the task that iterates ends the iteration, and the future
  /// continues.
  ///
  /// - Complexity: O(1) for the call. Each value is read as ``currentProgress`` is, or twice; a
  ///   report by itself only wakes the consumer.
  public final var progressUpdates: FutureProgressUpdates {
    FutureProgressUpdates(target: progressEdge, total: isSettled ? reportedTotal : nil)
  }

  /// The edge of a listener, which does not own a promise or a task that may still be dropped.
  ///
  /// Any other future would otherwise be gone before the listener could see its end, or the
  /// progress of what its closure has returned.
  final var progressEdge: Upstream {
    let mayBeDropped = isPromise && !traits.contains(.isKeptByWork) || behaviour != nil
    return isSettled || !mayBeDropped ? .future(self) : edge
  }
}

/// The progress of a future, whenever it changes.
///
/// See ``AnyFuture/progressUpdates``.
public struct FutureProgressUpdates: AsyncSequence, Sendable {
  /// How far the work has come.
  public typealias Element = FutureProgress
  /// The sequence never throws: a failure ends it.
  public typealias Failure = Never

  // Sendable: nothing writes the edge after init.
  private nonisolated(unsafe) let target: Upstream
  private let total: Int64?

  init(target: Upstream, total: Int64?) {
    self.target = target
    self.total = total
  }

  /// Makes an iterator, which begins with the present value.
  public func makeAsyncIterator() -> Iterator {
    Iterator(listener: AwaitedProgress(target: target), total: total)
  }

  /// An iterator over the progress.
  public struct Iterator: AsyncIteratorProtocol {
    private let listener: AwaitedProgress
    private var last: FutureProgress?
    private var total: Int64?

    fileprivate init(listener: AwaitedProgress, total: Int64?) {
      self.listener = listener
      self.total = total
    }

    /// Waits for the next value; `nil` when the future has settled, or when the calling task is
    /// cancelled.
    public mutating func next() async -> FutureProgress? { await next(isolation: nil) }

    /// Waits for the next value; `nil` when the future has settled, or when the calling task is
    /// cancelled.
    ///
    /// - Parameter actor: The actor on which the call runs.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> FutureProgress? {
      while !Task.isCancelled {
        let version = listener.version
        switch listener.read() {
        case .pending(let progress):
          if last.map({ progress.mayFollow($0) }) ?? true {
            last = progress
            total = progress.total
            return progress
          }
        case .succeeded:
          listener.end()
          // A source that has succeeded may have told of the end before.
          return last?.fractionCompleted == 1 ? nil : .complete(of: total)
        case .over:
          listener.end()
          return nil
        }
        if await !listener.news(since: version, isolation: actor) {
          // News may come faster than this task reads it, and the actor has other work.
          await Task.yield()
        }
      }
      listener.end()
      return nil
    }
  }
}

/// A listener for whose news tasks wait: several, if an iterator was copied.
///
/// Each call of `wake` begins a new version. A task reads the progress, and then waits for
/// another version than the one at which it has read.
private final class AwaitedProgress: ProgressListener, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private struct State {
    var version = 0
    var waiting: [UnsafeContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  var version: Int { state.withLock { $0.version } }

  override func wake() {
    let waiting = state.withLock { state in
      state.version += 1
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Stops for good, and tells the other tasks.
  func end() {
    stop()
    wake()
  }

  /// Returns when there is another version, or the task is cancelled; `false` if there was one
  /// already.
  func news(since version: Int, isolation: isolated (any Actor)?) async -> Bool {
    var mustWait = true
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        mustWait = state.withLock { state in
          guard state.version == version else { return false }
          state.waiting.append(continuation)
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      wake()
    }
    return mustWait
  }
}
