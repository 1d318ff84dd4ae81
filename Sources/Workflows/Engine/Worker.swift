import Foundation
import Futures

/// A slot on a context: the operation that runs ready tasks, one after the
/// other.
///
///   made ── start ──▶ working ──▶ finished          a second start: ignored
///     └──── released unstarted: what waited for it is cancelled
///
/// A workflow keeps, per context, one worker in line for as long as tasks are
/// ready. When that one starts and more than one task is there, the next worker
/// gets in line. So there are as many of them at work as the context has room
/// for: a queue's concurrency limit holds, and tasks that block are no
/// hindrance where the context has more threads.
final class Worker: Operation, @unchecked Sendable {
  // Sendable: `state` decides who works; the rest never changes.
  private enum State {
    static let made: UInt8 = 0
    static let working: UInt8 = 1
    static let finished: UInt8 = 2
  }

  /// How many tasks a worker runs before it gets in line again, and for how
  /// long it may begin new ones.
  private static let limit = (tasks: 128, nanoseconds: UInt64(1_000_000))

  /// How many workers a thread may be in before others wait for them.
  static let deepest = 16

  private let core: WorkflowCore
  private let pool: Int
  private let context: ContextReference
  private let state = Atomic<UInt8>(State.made)
  /// The same as `isCancelled`, which takes a lock.
  private let isStopped = Atomic(false)

  init(of core: WorkflowCore, pool: Int, on context: ContextReference) {
    self.core = core
    self.pool = pool
    self.context = context
    super.init()
    name = "Workflow worker"
  }

  deinit {
    if state.load(ordering: .acquiring) == State.made { core.workerWasDropped(pool: pool) }
    core.workerIsGone(pool: pool)
  }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool {
    unexplored { state.load(ordering: .acquiring) == State.working }
  }
  override var isFinished: Bool {
    unexplored { state.load(ordering: .acquiring) == State.finished }
  }

  override func start() {
    let (isFirst, _) = state.compareExchange(
      expected: State.made, desired: State.working, ordering: .acquiringAndReleasing)
    guard isFirst else { return }
    work()
    state.store(State.finished, ordering: .releasing)
    post("isFinished")
  }

  override func cancel() {
    super.cancel()
    isStopped.store(true, ordering: .relaxed)
    // Whoever cancels a queue means what waits for it.
    core.cancelReadyTasks(pool: pool)
  }

  private func work() {
    let thread = WorkflowThread.current
    let outer = thread.frame
    // (A run loop that a task serves may start a worker inside that task, too.)
    let isNested =
      thread.starting == ObjectIdentifier(self)
      && outer.map { $0.core === core && $0.pool == pool } ?? false
    guard core.workerStarted(pool: pool, isNested: isNested) else { return }
    // A workflow that is gone takes the closures of its tasks away. It must not
    // go while one of them is in use: a task that was cancelled does not keep it.
    guard let workflow = core.workflow else { return }
    defer { withExtendedLifetime(workflow) {} }
    thread.frame = WorkflowThread.Frame(
      core: core, pool: pool, depth: outer.map { $0.depth + 1 } ?? 0)
    // (It goes on where the next worker would be started in this very call.)
    repeat { workForAWhile(thread) } while !core.workerMayStop(pool: pool)
    thread.frame = outer
  }

  private func workForAWhile(_ thread: WorkflowThread) {
    let end = WorkflowClock.now &+ Self.limit.nanoseconds
    var count = 0
    // A stop ends one go: what is ready afterwards is for the next.
    var isOver = isStopped.exchange(false, ordering: .relaxed) || context.isSuspended
    // (The first task is begun however long this thread had to wait for its time.)
    while !isOver, let (task, run) = core.beginNext(pool: pool, until: count == 0 ? .max : end) {
      thread.frame?.task = ObjectIdentifier(task)
      thread.frame?.run = run
      task.perform(run: run)
      thread.frame?.task = nil
      count += 1
      isOver =
        count >= Self.limit.tasks || context.isSuspended
        || isStopped.load(ordering: .relaxed)
    }
  }
}

/// The clock of traces.
enum WorkflowClock {
  /// Nanoseconds since some time; never goes back.
  static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  /// Seconds since the reference date of Foundation, by the calendar.
  static var date: Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) - Date.timeIntervalBetween1970AndReferenceDate
      + Double(time.tv_nsec) / 1e9
  }

  /// Times of the clock as dates of the calendar, without asking the calendar
  /// each time.
  struct Calendar {
    private var asked: UInt64 = 0
    private var offset = 0.0

    /// The date of a time that is about now.
    @inline(__always)
    mutating func date(of time: UInt64) -> Double {
      // Somebody may have set the calendar.
      if time &- asked > 50_000_000 {
        asked = time
        offset = WorkflowClock.date - Double(time) / 1e9
      }
      return Double(time) / 1e9 + offset
    }
  }
}
