import Foundation

/// Several continuations in one place of a context.
///
/// When a closure has run in its place and its future has settled, the first
/// continuation that wants the very same context runs next in the same place.
/// So a chain of links on one queue costs one hop, not one a link. A batch goes
/// on for 128 closures, or as long as it started the last one within a
/// millisecond; it ends when the queue is suspended or the batch cancelled.
struct Batch {
  private static let limit = (continuations: 128, nanoseconds: UInt64(1_000_000))

  let context: ContextReference
  let placeholder: (any BatchPlaceholder)?
  /// How many loops are nested below the one that runs the batch.
  let nesting: Int
  private var next: Continuation?
  private let start = DispatchTime.now().uptimeNanoseconds
  private var count = 0
  /// Whether the batch goes on; asked when the first continuation wants the
  /// next place, and not again until the next closure has run: all
  /// continuations go the same way, or their order is lost. Most batches end
  /// without being asked, and never look at a clock again.
  private var answer: Bool?

  init(on context: ContextReference, _ placeholder: (any BatchPlaceholder)?, nesting: Int) {
    self.context = context
    self.placeholder = placeholder
    self.nesting = nesting
  }

  /// Whether the next place is free, for a continuation on this context.
  @inline(__always)
  mutating func isOpen(to other: ContextReference) -> Bool {
    guard next == nil, context.isSame(as: other) else { return false }
    if let answer { return answer }
    let isOpen =
      count < Self.limit.continuations && !context.isSuspended
      && placeholder?.isCancelled != true
      && DispatchTime.now().uptimeNanoseconds &- start < Self.limit.nanoseconds
    answer = isOpen
    return isOpen
  }

  @inline(__always)
  mutating func setNext(_ continuation: consuming Continuation) {
    if continuation.isLink { placeholder?.next = continuation.future }
    next = consume continuation
  }

  /// Takes no further continuation before the next closure has run.
  mutating func close() { answer = false }

  /// A closure has run.
  @inline(__always)
  mutating func hasRunOne() {
    count += 1
    answer = nil
  }

  /// Returns what is to run next.
  ///
  /// A handler whose place was cancelled does not run.
  @inline(__always)
  mutating func takeNext() -> Continuation? {
    guard let next = next.take() else { return nil }
    if case .handler = next.kind, placeholder?.isCancelled == true { return nil }
    return next
  }
}

/// What stands in a queue for the continuations that run in one place of it.
package protocol BatchPlaceholder: AnyObject {
  /// The future whose closure runs there now.
  var current: AnyFuture? { get set }
  /// The future whose closure runs there next.
  var next: AnyFuture? { get set }
  /// Whether the place was cancelled.
  var isCancelled: Bool { get }
}

/// The operation that a context is asked to start.
///
///   made ── start ──▶ running ──▶ finished          a second start: ignored
///     └──── released unstarted: the continuation's promise is broken
///
/// A future is not itself what is put in a queue, for four reasons: it finishes
/// as soon as its own closure has run although the place goes to the next one; a
/// future that waits for an inner one holds no place; a context that drops the
/// operation is noticed; and a user may put the future itself in any queue.
package final class BatchOperation: PlaceholderOperation, BatchPlaceholder, @unchecked Sendable {
  // Sendable: the base class decides who takes `continuation`; `occupants` has a
  // lock.
  private let context: ContextReference
  private nonisolated(unsafe) var continuation: Continuation?
  private let occupants: Lock<(current: AnyFuture?, next: AnyFuture?)>

  init(_ continuation: consuming Continuation, on context: ContextReference) {
    let future = continuation.future
    occupants = Lock((continuation.isLink ? future : nil, nil))
    self.context = context
    self.continuation = consume continuation
    super.init()
    beginReady()
    if future.hasCustomScheduling { takeScheduling(of: future) }
  }

  deinit { continuation?.abandon() }

  package var current: AnyFuture? {
    get { occupants.withLock { $0.current } }
    set {
      // The old ones are released after unlock.
      _ = occupants.withLock { occupants in
        defer { occupants = (newValue, nil) }
        return occupants
      }
    }
  }

  package var next: AnyFuture? {
    get { occupants.withLock { $0.next } }
    set { occupants.withLock { $0.next = newValue } }
  }

  package override func begin() {
    guard let continuation = continuation.take() else { return }
    if case .handler = continuation.kind, isCancelled { return }
    WorkLoop.current.runBatch(continuation, on: context, placeholder: self)
  }

  package override func cancelOccupants() {
    let (current, next) = occupants.withLock { $0 }
    // The next one first: it would run as soon as the current one has ended.
    next?.cancel()
    current?.cancel()
  }
}

extension Continuation {
  /// Asks a queue to start the continuation.
  consuming func enqueue(on context: ContextReference) {
    switch context {
    case .operationQueue(let queue):
      queue.addReliably(BatchOperation(self, on: context))
    case .dispatchQueue(let queue):
      SchedulingPoints.handOff()
      let continuation = self
      queue.async { WorkLoop.current.runBatch(continuation, on: context, placeholder: nil) }
    case .custom(let custom):
      custom.context.execute(BatchOperation(self, on: context))
    case .inline:
      WorkLoop.current.runInline(self)
    }
  }
}
