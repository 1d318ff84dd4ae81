import Properations
import Synchronization
import Tracing

/// Ends a span once, with the outcome of the future that it is about.
final class SpanEnding: Sendable {
  private let span: any Span
  private let isSettled = Mutex(false)

  init(of span: any Span) { self.span = span }

  /// Takes note that the future has succeeded.
  func noteSuccess() { isSettled.withLock { $0 = true } }

  /// Takes note of the future's error, which may be a cancellation.
  func note(_ error: any Error) {
    if error is CancellationError { return }
    if case .cancelled? = error as? ProperationsError { return }
    isSettled.withLock { $0 = true }
    span.recordError(error)
    span.setStatus(SpanStatus(code: .error, message: "\(error)"))
  }

  /// Ends the span.
  ///
  /// Without a note the future was cancelled.
  func end() {
    if !isSettled.withLock({ $0 }) { span.addEvent(SpanEvent(name: "cancelled")) }
    span.end()
  }
}
