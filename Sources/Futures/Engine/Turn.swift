import Foundation
import Synchronization

/// A slot on a context: the operation that a context is asked to start.
///
///   made ── start ──▶ running ──▶ finished          a second start: ignored
///     └──── released unstarted: the job's promise is broken
///
/// A future is not itself what is put in a queue, for four reasons: it
/// finishes as soon as its own closure has run although the slot goes on with
/// the next one; a future that waits for an inner one holds no slot; a context
/// that drops the operation is noticed; and a user may put the future itself
/// in whatever queue he likes.
final class Turn: Operation, TurnSlot, @unchecked Sendable {
  // Sendable: `state` decides who may take `job`; `running` has a lock.
  private enum State {
    static let made: UInt8 = 0
    static let running: UInt8 = 1
    static let finished: UInt8 = 2
  }

  private let context: ContextReference
  private let state = Atomic<UInt8>(State.made)
  private let running: Lock<AnyFuture?>
  // Sendable: taken by the one who moves `state` on from `made`.
  private nonisolated(unsafe) var job: Job?

  init(_ job: Job, on context: ContextReference) {
    self.job = job
    self.context = context
    running = Lock(job.handler == nil ? job.future : nil)
    super.init()
    let future = job.future
    if future.hasCustomScheduling {
      name = future.name
      queuePriority = future.queuePriority
      qualityOfService = future.qualityOfService
    }
  }

  deinit {
    guard state.load(ordering: .acquiring) == State.made else { return }
    job?.abandon()
  }

  /// The future whose closure runs in the slot now: the one to cancel when
  /// the slot is cancelled.
  var current: AnyFuture? {
    get { running.withLock { $0 } }
    set { running.replace(with: newValue) }
  }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool {
    unexplored { state.load(ordering: .acquiring) == State.running }
  }
  override var isFinished: Bool {
    unexplored { state.load(ordering: .acquiring) == State.finished }
  }

  override func start() {
    let (isFirst, _) = state.compareExchange(
      expected: State.made, desired: State.running, ordering: .acquiringAndReleasing)
    guard isFirst, let job else { return }
    self.job = nil
    Drain.current.runTurn(job, on: context, slot: self)
    state.store(State.finished, ordering: .releasing)
    post("isFinished")
  }

  override func cancel() {
    super.cancel()
    current?.cancel()
  }
}

/// What stands in a queue for the closures that run in one place of it.
package protocol TurnSlot: AnyObject {
  /// The future whose closure runs in the slot now.
  var current: AnyFuture? { get set }
}

extension Operation {
  /// Tells Foundation that a property of the operation has changed.
  package func post(_ key: String) {
    SchedulingPoints.handOff()
    #if canImport(Darwin)
      willChangeValue(forKey: key)
    #endif
    didChangeValue(forKey: key)
  }
}
