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
  /// The number of loops below the one that runs the batch.
  let nesting: Int
  private var next: Continuation?
  private let start = DispatchTime.now().uptimeNanoseconds
  private var count = 0
  /// Whether the batch goes on.
  ///
  /// Decided when the first continuation wants the next place, and not again until
  /// the next closure has run: all continuations go the same way, which keeps their
  /// order. Most batches end before a decision, and never look at the clock again.
  private var answer: Bool?
  /// Whether the context has continuations that have to run after `next`.
  private(set) var isFollowed = false

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

  /// Takes no further continuation before the next closure has run: one goes to the
  /// context itself.
  mutating func close() {
    answer = false
    isFollowed = next != nil
  }

  /// Gives the next place up.
  ///
  /// All later continuations go to the context itself.
  mutating func giveUpNext() -> Continuation? {
    guard next != nil else { return nil }
    answer = false
    placeholder?.next = nil
    return takeNext()
  }

  /// A closure has run.
  @inline(__always)
  mutating func hasRunOne() {
    count += 1
    answer = nil
    isFollowed = false
  }

  /// Returns the continuation that runs next.
  ///
  /// A handler whose placeholder was cancelled does not run.
  @inline(__always)
  mutating func takeNext() -> Continuation? {
    guard let next = next.take() else { return nil }
    if case .handler = next.kind, placeholder?.isCancelled == true { return nil }
    return next
  }
}

/// Stands in a queue for the continuations of a batch.
package protocol BatchPlaceholder: AnyObject {
  /// The future whose closure runs there now.
  var current: AnyFuture? { get set }
  /// The future whose closure runs there next.
  var next: AnyFuture? { get set }
  /// Whether the place was cancelled.
  var isCancelled: Bool { get }
}
