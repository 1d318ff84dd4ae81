import Foundation
import Futures

/// The operation that takes a slot of a context and runs ready tasks, one after the
/// other.
///
///   made ── start ──▶ working ──▶ finished          a second start: ignored
///     ├──── not needed ─────────▶ finished
///     └──── released unstarted: the tasks that wait for it are cancelled
///
/// For each context, a workflow keeps one worker queued while tasks are ready. When that
/// worker starts and more than one task is ready, the next worker is queued. The number
/// of active workers is therefore what the context allows: a queue's concurrency limit
/// holds, and blocking tasks do not delay others where the context has more threads.
final class Worker: Operation, @unchecked Sendable {
  // Sendable: `state` decides which thread works; the rest never changes, except for
  // `isHandedOver`, which only the thread `asker` accesses.
  private enum State {
    static let made: UInt8 = 0
    static let working: UInt8 = 1
    static let finished: UInt8 = 2
  }

  /// How many tasks a worker runs before it is queued again, and for how long it may
  /// begin new ones.
  private static let limit = (tasks: 128, nanoseconds: UInt64(1_000_000))

  /// How many workers may be nested on a thread's stack before further ones are deferred.
  static let deepest = 16

  private let core: WorkflowCore
  private let pool: Int
  private let context: ContextReference
  private let state = Atomic<UInt8>(State.made)
  /// The same as `isCancelled`, but read without a lock.
  private let isStopped = Atomic(false)
  /// The thread that hands the worker to the context, and whether that call has returned.
  ///
  /// Only that thread accesses the flag.
  private let asker = pthread_self()
  @exclusivity(unchecked) private var isHandedOver = false

  init(of core: WorkflowCore, pool: Int, on context: ContextReference) {
    self.core = core
    self.pool = pool
    self.context = context
    super.init()
    name = "Workflow worker"
  }

  deinit {
    guard state.load(ordering: .acquiring) == State.made else {
      return core.workerIsGone(pool: pool)
    }
    // Other tasks may become ready by the cancellation, and their worker may be dropped, too.
    // That must not need an endless stack.
    WorkflowThread.current.call { [core, pool] in
      core.workerWasDropped(pool: pool)
      core.workerIsGone(pool: pool)
    }
  }

  /// Hands the worker to its context.
  ///
  /// A context may hold a lock while it starts a worker inside the call. A task of that worker
  /// may need another worker there: this one waits until the thread is no longer in the call. But
  /// a second worker of the same pool is not needed: the one on the stack goes on with the tasks,
  /// and what becomes ready on other threads gets a worker there.
  func handOver() {
    var isAsked = false
    WorkLoop.current.ask(context) {
      isAsked = true
      context.start(self)
      isHandedOver = true
    } orLater: {
      if self.state.load(ordering: .acquiring) == State.made { self.handOver() }
    }
    if isAsked { return }
    guard isInsideOwnPool else { return core.workerWaits(pool: pool) }
    state.store(State.finished, ordering: .releasing)
    _ = core.workerStarted(pool: pool, isNested: true, isInCall: true)
  }

  /// Whether the calling thread runs a worker of the same pool.
  private var isInsideOwnPool: Bool {
    WorkflowThread.existing?.frame.map { $0.core === core && $0.pool == pool } ?? false
  }

  /// Whether the calling thread is still inside the call that handed the worker over.
  private var isStartedInCall: Bool {
    pthread_equal(asker, pthread_self()) != 0 && !isHandedOver
  }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool {
    unexplored { state.load(ordering: .acquiring) == State.working }
  }
  override var isFinished: Bool {
    unexplored { state.load(ordering: .acquiring) == State.finished }
  }

  override func start() {
    willChange(.isExecuting)
    let (isFirst, _) = state.compareExchange(
      expected: State.made, desired: State.working, ordering: .acquiringAndReleasing)
    didChange(.isExecuting)
    guard isFirst else { return }
    work()
    willChange([.isExecuting, .isFinished])
    state.store(State.finished, ordering: .releasing)
    didChange([.isExecuting, .isFinished])
  }

  override func cancel() {
    super.cancel()
    isStopped.store(true, ordering: .relaxed)
    // Cancelling a queue cancels the ready tasks that wait for it.
    core.cancelReadyTasks(pool: pool)
  }

  private func work() {
    let thread = WorkflowThread.current
    let outer = thread.frame
    // A task that runs the run loop may also start a worker inside itself; that worker is
    // not nested in this sense.
    let isNested = isStartedInCall && isInsideOwnPool
    guard core.workerStarted(pool: pool, isNested: isNested, isInCall: isStartedInCall) else {
      return
    }
    // Releasing a workflow releases the closures of its tasks. That must not happen while
    // one of them runs: a cancelled task does not keep the workflow.
    guard let workflow = core.workflow else { return }
    defer { withExtendedLifetime(workflow) {} }
    let hasThread = !isStartedInCall && !context.isMain
    thread.frame = WorkflowThread.Frame(
      core: core, pool: pool, depth: outer.map { $0.depth + 1 } ?? 0, hasThread: hasThread,
      isOnWorkerThread: hasThread || outer?.isOnWorkerThread ?? false)
    // If the next worker would start inside this call, this worker continues instead.
    repeat { workForAWhile(thread) } while !core.workerMayStop(pool: pool)
    thread.frame = outer
  }

  private func workForAWhile(_ thread: WorkflowThread) {
    let end = WorkflowClock.now &+ Self.limit.nanoseconds
    var count = 0
    // A stop ends this round: tasks that become ready later are for the next round.
    var isOver = isStopped.exchange(false, ordering: .relaxed) || context.isPaused
    // The first task begins even if this thread had to wait long for the processor.
    while !isOver,
      let (task, run, hook) = core.beginNext(pool: pool, until: count == 0 ? .max : end)
    {
      thread.frame?.task = ObjectIdentifier(task)
      thread.frame?.run = run
      if let hook {
        core.callHook(for: .started(task, nil))
        core.wasCalled(hook)
      }
      // The hook may have ended the run.
      if !task.hasHooks || core.read({ $0.graph.isExecuting(task.index, run: run) }) {
        releasingAutoreleased { task.perform(run: run) }
      }
      thread.frame?.task = nil
      count += 1
      isOver =
        count >= Self.limit.tasks || context.isPaused
        || isStopped.load(ordering: .relaxed)
    }
  }
}

/// The clocks of the engine: monotonic time for traces and timeouts, calendar time for
/// dates.
enum WorkflowClock {
  /// Nanoseconds since an arbitrary point in time.
  ///
  /// Never decreases.
  static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  /// Converts times of the monotonic clock to calendar dates, without a system call each
  /// time.
  struct Calendar {
    private var asked: UInt64 = 0
    private var offset = 0.0

    /// Returns the date of a time close to now.
    @inline(__always)
    mutating func date(of time: UInt64) -> Double {
      // The calendar clock may have been set meanwhile.
      if time &- asked > 50_000_000 {
        asked = time
        offset = Date.timeIntervalSinceReferenceDate - Double(time) / 1e9
      }
      return Double(time) / 1e9 + offset
    }
  }
}
