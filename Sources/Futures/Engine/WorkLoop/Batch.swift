import Foundation

/// Several continuations in one slot of a context.
///
/// When a closure has run in the slot and its future has settled, the first continuation
/// that wants the same context runs next in the same slot. So a chain of links on one
/// queue costs one hop, not one hop per link. A batch takes at most 128 closures, and
/// accepts none later than a millisecond after its beginning. It also ends when the queue
/// is suspended or its limit is zero, or the placeholder operation is cancelled.
struct Batch {
  private static let limit = (continuations: 128, nanoseconds: UInt64(1_000_000))

  let context: ContextReference
  let placeholder: (any BatchPlaceholder)?
  /// The number of loops below the one that runs the batch.
  let nesting: Int
  private var next: Continuation?
  private var dropped: Continuation?
  private let start = DispatchTime.now().uptimeNanoseconds
  private var count = 0
  /// Whether the batch goes on.
  ///
  /// Decided when the first continuation wants the next place, and kept until the next
  /// closure has run. So all continuations go the same way, which keeps their order. Most
  /// batches end before a decision, and never read the clock again.
  private var answer: Bool?
  /// Whether the context has continuations that have to run after `next`.
  private(set) var isFollowed = false
  /// Whether `next` stays where it is while this thread blocks.
  private var keepsNext = false

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
      count < Self.limit.continuations && !context.isPaused && placeholder?.isCancelled != true
      && DispatchTime.now().uptimeNanoseconds &- start < Self.limit.nanoseconds
    answer = isOpen
    return isOpen
  }

  @inline(__always)
  mutating func setNext(_ continuation: consuming Continuation) {
    if continuation.isLink { placeholder?.next = continuation.future }
    next = consume continuation
    keepsNext = false
  }

  /// Takes no further continuation before the next closure has run, because one goes to
  /// the context itself.
  mutating func close() {
    answer = false
    isFollowed = next != nil
  }

  /// Gives the next place up, because this thread is about to block; `false` if it is free, or
  /// its continuation keeps it.
  ///
  /// The caller takes the continuation. All later ones go to the context itself.
  ///
  /// In a queue with one slot the continuation could not run before this slot is free. In the
  /// queue it would stand behind later ones of the same future, which the queue may have got
  /// already. So it keeps its place, until the queue gets more slots.
  mutating func giveUpNext() -> Bool {
    guard next != nil else { return false }
    keepsNext = (keepsNext || !isFollowed) && context.isQueueWithOneSlot
    if keepsNext { return false }
    answer = false
    placeholder?.next = nil
    return true
  }

  /// Whether the next continuation has kept its place, and could run in another slot now.
  var keepsNextInVain: Bool { keepsNext && !context.isQueueWithOneSlot }

  /// Records that a closure has run.
  @inline(__always)
  mutating func hasRunOne() {
    count += 1
    answer = nil
    isFollowed = false
  }

  /// Takes the continuation that has the next place.
  ///
  /// A handler whose placeholder was cancelled does not run: the caller takes it with
  /// `takeDropped()`, and abandons it.
  @inline(__always)
  mutating func takeNext() -> Continuation? {
    guard let next = next.take() else { return nil }
    guard case .handler = next.kind, placeholder?.isCancelled == true else { return next }
    dropped = next
    return nil
  }

  mutating func takeDropped() -> Continuation? { dropped.take() }
}

/// The operation that stands in a queue for the continuations of a batch.
package protocol BatchPlaceholder: AnyObject {
  /// The future whose closure runs in the slot now.
  var current: AnyFuture? { get set }
  /// The future whose closure runs in the slot next.
  var next: AnyFuture? { get set }
  /// Whether the placeholder operation was cancelled.
  var isCancelled: Bool { get }
}
