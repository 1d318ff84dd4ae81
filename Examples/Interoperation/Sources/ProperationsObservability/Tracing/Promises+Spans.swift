import Properations
import Synchronization
import Tracing

extension Promises {
  /// Makes the service context travel with the closures of futures, so that their spans nest.
  ///
  /// Call it once, when the application starts. See `Promises.carry` for the closures that
  /// have the context.
  public static func carryServiceContext() { carry(ServiceContext.$current) }

  /// Makes a future within a span that ends when the future settles.
  ///
  /// ```swift
  /// let page = Promises.withSpan("load page") { span in
  ///   fetch(url).mapToValue(on: .global()) { try parse($0) }
  /// }
  /// ```
  ///
  /// The span is a child of the current one. It is the current span in the closure, and in the
  /// closures that are attached there if ``carryServiceContext()`` was called. It has ended
  /// before the returned future settles. A failure is recorded as the span's error and status.
  /// A cancellation is the event `cancelled`; cancelling the returned future ends the span at
  /// once.
  ///
  /// - Parameters:
  ///   - name: The name of the span.
  ///   - tracer: Makes the span; that of the process by default.
  ///   - kind: The kind of the span.
  ///   - makeFuture: Called before this function returns. An error that it throws fails the
  ///     returned future.
  public static func withSpan<Success: Sendable>(
    _ name: String, tracer: any Tracer = InstrumentationSystem.tracer,
    ofKind kind: SpanKind = .internal, function: String = #function,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: (_ span: any Span) throws -> Future<Success>
  ) -> Future<Success> {
    let span: any Span = tracer.startSpan(
      name, ofKind: kind, function: function, file: "\(fileID)", line: line)
    let ending = SpanEnding(of: span)
    let future: Future<Success>
    do {
      future = try ServiceContext.$current.withValue(span.context) { try makeFuture(span) }
    } catch {
      ending.note(error)
      ending.end()
      return makeFailed(with: error, fileID: fileID, line: line)
    }
    return future.mapResult(on: .inline, fileID: fileID, line: line) { result in
      switch result {
      case .success: ending.noteSuccess()
      case .failure(let error): ending.note(error)
      }
      return result
    }.always(on: .inline, fileID: fileID, line: line) { ending.end() }
  }

  /// Tries a future again and again, within one span.
  ///
  /// See `Promises.retry` for the attempts and ``withSpan(_:tracer:ofKind:function:fileID:line:_:)``
  /// for the span. Each further attempt is an event `retry` with two attributes: the number of
  /// the attempt, `retry.attempt`, and the error of the one before, `retry.error`.
  ///
  /// - Parameters:
  ///   - policy: How often, how soon, and after which errors to try again.
  ///   - name: The name of the span.
  ///   - tracer: Makes the span; that of the process by default.
  ///   - context: Where the closure runs.
  ///   - makeFuture: Called with the number of the attempt, beginning with one. Returns the
  ///     attempt's future.
  public static func retry<Success: Sendable>(
    _ policy: RetryPolicy, span name: String, tracer: any Tracer = InstrumentationSystem.tracer,
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @Sendable (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    withSpan(name, tracer: tracer, fileID: fileID, line: line) { span in
      let last = LastError()
      return retry(policy, on: context, fileID: fileID, line: line) { attempt in
        if attempt > 1 { span.addEvent(.retry(attempt, after: last.error)) }
        do {
          // Noted before the attempt settles: the next one may begin on another thread.
          return try makeFuture(attempt).mapError(on: .inline, fileID: fileID, line: line) {
            last.error = $0
            return $0
          }
        } catch {
          last.error = error
          throw error
        }
      }
    }
  }
}

extension SpanEvent {
  fileprivate static func retry(_ attempt: Int, after error: (any Error)?) -> SpanEvent {
    var attributes: SpanAttributes = ["retry.attempt": .int64(Int64(attempt))]
    if let error { attributes["retry.error"] = "\(error)" }
    return SpanEvent(name: "retry", attributes: attributes)
  }
}

/// The error of the attempt before.
private final class LastError: Sendable {
  private let state = Mutex<(any Error)?>(nil)

  var error: (any Error)? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
