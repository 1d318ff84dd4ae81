/// Why a future is still pending: the futures that it waits for, up to the roots, and what each
/// root waits for.
///
/// You get one from ``AnyFuture/explain()``. Its ``description`` is text for a log; ``mermaid``
/// and ``dot`` are drawings.
///
/// An explanation is a snapshot. Other threads may settle futures while it is made, so it may
/// show a future that has settled meanwhile. It keeps no future alive.
///
/// It stays small. Of a long chain it has the first and the last futures, of many inputs the
/// first eight, and never more than about a hundred futures in all. It says how many it has
/// left out. Roots that are found later are still listed, up to sixteen.
public struct FutureExplanation: Sendable {
  /// One future of the explanation.
  public struct Step: Sendable {
    /// The place where the future was made.
    public let createdAt: CreationSite
    /// The name of the future, if it has one.
    public let name: String?
    /// What the future waits for, apart from other futures.
    public let reasons: [Reason]
    /// The positions of the futures that this one waits for, in ``FutureExplanation/steps``.
    public internal(set) var waitsFor: [Int] = []
    /// How many futures of a chain are left out between this one and the one that it waits for.
    public internal(set) var leftOutCount = 0
    /// How many further futures this one waits for, which the explanation leaves out.
    public internal(set) var moreCount = 0
    /// Whether one of the futures that it waits for is enough.
    public internal(set) var needsOnlyOne = false
  }

  /// What a future waits for, apart from other futures.
  public struct Reason: Sendable, CustomStringConvertible {
    /// The kind of a reason.
    public enum Kind: Sendable, Hashable {
      /// The future has settled, so it does not wait.
      case settled
      /// A producer has to settle the promise.
      case promise
      /// The future's own closure is running.
      case runningClosure
      /// The future's closure or task waits for a slot of a queue.
      case queue
      /// The future's closure waits for the main queue.
      case mainQueue
      /// The future's closure waits for another execution context.
      case context
      /// A condition of the task has not answered.
      case condition
      /// The future waits in the line of a limit: of permits, a rate or a batch.
      case limit
      /// A task of a workflow has not ended.
      case workflow
      /// A timer settles the future, at the latest.
      case timer
      /// An operation that is no future has to finish.
      case operation
      /// The work has not been started: a lazy future that no consumer wants, or a task that is
      /// in no queue.
      case notStarted
      /// The library does not know.
      case unknown
    }

    /// The kind of the reason.
    public let kind: Kind
    /// The queue, if the future waits for one.
    public let queue: QueueState?
    /// A sentence that says what the future waits for.
    public let description: String

    package init(_ kind: Kind, _ description: String, _ queue: QueueState? = nil) {
      self.kind = kind
      self.queue = queue
      self.description = description
    }
  }

  /// An operation queue at the moment of the explanation.
  public struct QueueState: Sendable {
    /// The name of the queue.
    public let name: String
    /// Whether the queue is suspended, so that it starts nothing.
    public let isSuspended: Bool
    /// The number of operations that the queue runs at a time, or `nil` if the system decides.
    public let slotCount: Int?
    /// The number of operations in the queue that execute.
    public let executingCount: Int
    /// The number of operations in the queue that do not execute.
    public let waitingCount: Int
    /// What the first few executing operations are.
    public let holders: [String]
    /// What the first few barriers are that have not run.
    ///
    /// Apple's queues do not show their barriers.
    public let barriers: [String]
  }

  /// The futures, beginning with the one that was asked.
  public internal(set) var steps: [Step] = []

  /// The positions of the futures that wait for no other future, in ``steps``.
  public internal(set) var roots: [Int] = []

  /// How many futures were visited and are not in ``steps``.
  public internal(set) var omittedCount = 0

  /// Whether there are more than two million futures, of which some were not visited.
  public internal(set) var isTruncated = false
}

extension AnyFuture {
  /// Explains why the future is still pending.
  ///
  /// Walks from this future to the futures that it waits for, up to the roots, and says for
  /// each root which promise, closure, queue, operation, timer, condition, limit or workflow
  /// task it waits for. Nothing has to be
  /// switched on. The call holds no lock while it looks at another object, needs no stack for
  /// deep chains, and changes nothing. Call it from any thread, or in a debugger.
  ///
  /// ```swift
  /// print(report.explain())
  /// ```
  ///
  /// It does not see an `await` inside an async closure that holds no slot of a queue, or which
  /// code holds the permits of a `Permits`: such a future is a root.
  ///
  /// - Returns: The explanation. For a settled future, it says that the future has settled.
  /// - Complexity: O(n) for n futures upstream, operations of the queues and members of the
  ///   lines that they wait for.
  public final func explain() -> FutureExplanation {
    var walk = ExplanationWalk()
    return walk.explain(self)
  }

  /// The text of ``explain()``, for a debugger.
  public final var debugTree: String { explain().description }
}
