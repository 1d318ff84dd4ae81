import Foundation
import Futures

/// What stands in the operation queue for a task that has, or waits for, a
/// place in it.
///
/// The task itself never enters the queue: it could not finish there before the
/// queue has started it, and a task that is cancelled finishes at once. A slot
/// is over when the task's work has returned and the task has concluded.
///
///   empty ── fill ──▶ full ── start ──▶ running ── last hold released ──▶ over
///     └──── the task has ended: ready, nothing to run ────────────────────▶ over
///
/// The first few tasks that wait have their slots from the beginning, so that
/// the queue's operations count them.
final class Slot: Operation, BatchPlaceholder, @unchecked Sendable {
  // Sendable: `state` decides who may touch `job`; `running` has a lock.
  private enum State {
    static let empty: UInt8 = 0
    /// Somebody is about to make it full.
    static let filling: UInt8 = 1
    static let full: UInt8 = 2
    static let running: UInt8 = 3
    static let over: UInt8 = 4
  }

  private let queue: TaskQueue
  private let state: Atomic<UInt8>
  private let holds = Atomic<Int>(1)
  // Sendable: written before `state` becomes full, and then taken by the one who
  // moves it on.
  private nonisolated(unsafe) var job: Continuation?
  private let running = Lock<AnyFuture?>(nil)

  /// Makes a slot for a task that is ready.
  init(_ job: Continuation, of queue: TaskQueue) {
    self.queue = queue
    self.job = job
    state = Atomic(State.full)
    super.init()
    takeOver(job.future)
  }

  /// Makes a slot for a task that still has to wait.
  init(for task: AnyFuture, of queue: TaskQueue) {
    self.queue = queue
    state = Atomic(State.empty)
    super.init()
    takeOver(task)
  }

  private func takeOver(_ task: AnyFuture) {
    if task.hasCustomScheduling { takeScheduling(of: task) }
  }

  /// The task is ready, or has ended (`nil`).
  func fill(_ job: Continuation?) {
    // Only the first touches the job: both may come at the same time.
    let (isFirst, _) = state.compareExchange(
      expected: State.empty, desired: State.filling, ordering: .acquiringAndReleasing)
    guard isFirst else { return }
    self.job = job
    state.store(State.full, ordering: .releasing)
    post("isReady")
  }

  /// Whether it was made for a task that waits, and nothing has come of it yet.
  var isEmpty: Bool { state.load(ordering: .acquiring) == State.empty }

  var current: AnyFuture? {
    get { running.withLock { $0 } }
    set { running.replace(with: newValue) }
  }

  var next: AnyFuture? {
    get { nil }
    set {}
  }

  override var isAsynchronous: Bool { true }
  override var isReady: Bool {
    unexplored { state.load(ordering: .acquiring) >= State.full && super.isReady }
  }
  override var isExecuting: Bool {
    unexplored { state.load(ordering: .acquiring) == State.running }
  }
  override var isFinished: Bool {
    unexplored { state.load(ordering: .acquiring) == State.over }
  }

  override func start() {
    let (isFirst, _) = state.compareExchange(
      expected: State.full, desired: State.running, ordering: .acquiringAndReleasing)
    guard isFirst else { return }
    if let job {
      self.job = nil
      WorkLoop.current.runBatch(job, on: .operationQueue(queue), placeholder: self)
    }
    release()
  }

  /// The queue has to wait for one more.
  func hold() { holds.wrappingAdd(1, ordering: .relaxed) }

  /// One that the queue had to wait for is done.
  func release() {
    guard holds.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    state.store(State.over, ordering: .releasing)
    post("isFinished")
  }

  /// Cancels the task that is in the slot.
  override func cancel() {
    super.cancel()
    current?.cancel()
  }
}
