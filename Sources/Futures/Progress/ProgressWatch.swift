import Synchronization

/// What a future keeps for progress: its producer's last report, and the watches.
///
/// Guarded by the lock of the future. Most futures never have one.
final class ProgressRecord {
  /// How much the future counts where progress is joined.
  var weight = 1.0
  private(set) var report: FutureProgress?
  private let producer = ProgressProducer(
    number: ProgressRecord.producers.wrappingAdd(1, ordering: .relaxed).newValue)
  private static let producers = Atomic<UInt64>(0)
  private var watches: [ObjectIdentifier: ProgressWatch] = [:]

  var allWatches: [ProgressWatch] { Array(watches.values) }

  /// Stores a report, unless an earlier one says more.
  ///
  /// Returns the watches to wake.
  func report(_ new: FutureProgress) -> [ProgressWatch] {
    if let last = report, last.total == new.total, (last.completed ?? 0) >= (new.completed ?? 0) {
      return []
    }
    report = new
    report?.producer = producer
    return allWatches
  }

  func add(_ watch: ProgressWatch) { watches[ObjectIdentifier(watch)] = watch }

  func remove(_ watch: ProgressWatch) { watches[ObjectIdentifier(watch)] = nil }
}

/// Wakes a listener when the progress of one future may have changed.
///
/// It is a watcher of the future (it does not want the value), and it is in the future's
/// record for the reports and the new edges.
final class ProgressWatch: CallbackWaiter, @unchecked Sendable {
  // Sendable: `edge` has a lock, a weak reference is safe on any thread, the rest never
  // changes.

  /// The number of watches that exist.
  ///
  /// While it is zero, a future that begins to wait for another one looks at nothing else.
  static let count = Atomic<Int>(0)

  private weak var listener: ProgressListener?
  /// The future watched; `none` after the watch has ended.
  private let edge: Lock<Upstream>
  /// Whether this is the future whose progress is wanted, and not one upstream.
  let isTarget: Bool

  init(_ future: AnyFuture, for listener: ProgressListener, isTarget: Bool) {
    self.listener = listener
    self.isTarget = isTarget
    edge = Lock(future.edge)
    super.init()
    Self.count.wrappingAdd(1, ordering: .sequentiallyConsistent)
  }

  deinit { Self.count.wrappingSubtract(1, ordering: .relaxed) }

  /// Begins to watch.
  ///
  /// Does not start a lazy future, and does not want the value. If the future has settled, the
  /// caller's next reading finds that.
  func start(on future: AnyFuture) {
    guard future.storage.attachIfPending(.callback(self)) else { return edge.replace(with: .none) }
    future.storage.add(self)
    // It may have settled between the two calls.
    if isDone { future.storage.forget(self) }
  }

  /// Ends the watch.
  func stop() {
    guard let future = takeFuture() else { return }
    future.detach(.callback(self), cancelling: false)
    future.storage.forget(self)
  }

  private func takeFuture() -> AnyFuture? {
    edge.exchange(for: .none).existingFuture
  }

  func wake() { listener?.wake() }

  /// The producer has reported: user code is on top of the stack.
  func hasReport() { listener?.hearReport() }

  override func deliver(_ source: AnyFuture) {
    takeFuture()?.storage.forget(self)
    if isTarget { listener?.targetHasSettled(source.outcome) }
    wake()
  }

  /// The future was released and stood for another one: the next reading begins there.
  override func retarget(_ source: AnyFuture) {
    edge.replace(with: .none)
    if isTarget { listener?.target = source.edge }
    wake()
  }

  override var isDone: Bool {
    edge.withLock { if case .none = $0 { true } else { false } }
  }
  override var isConsumer: Bool { false }
}

extension AnyFuture {
  /// Tells the listeners that this future has begun to wait for another one.
  package final func wakeProgressWatches() {
    guard ProgressWatch.count.load(ordering: .sequentiallyConsistent) != 0 else { return }
    for watch in storage.progressWatches { watch.wake() }
  }
}
