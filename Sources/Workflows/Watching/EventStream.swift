import Futures

/// A stream of the events of a workflow and of the workflows inside it.
final class EventStream: Sendable {
  let continuation: AsyncStream<WorkflowEvent>.Continuation
  init(_ continuation: AsyncStream<WorkflowEvent>.Continuation) {
    self.continuation = continuation
  }
}

extension WorkflowCore {
  typealias Streams = [ObjectIdentifier: EventStream]

  /// Adds or removes a stream, to which the caller keeps a reference.
  func set(_ stream: EventStream, isAdded: Bool) {
    let (key, new) = (ObjectIdentifier(stream), isAdded ? stream : nil)
    change { state in
      state.streams[key] = new
      Self.forEach(inside: state.nestings) { $0.outerStreams[key] = new }
    }
  }

  /// With the lock held: adds streams of a workflow to the workflows inside it.
  static func add(_ streams: Streams, inside nestings: [Nesting]) {
    guard !streams.isEmpty else { return }
    forEach(inside: nestings) { $0.outerStreams.merge(streams) { $1 } }
  }

  /// With the lock held: removes streams again.
  ///
  /// The caller keeps a reference to them.
  static func remove(_ streams: Streams, inside nestings: [Nesting]) {
    guard !streams.isEmpty else { return }
    forEach(inside: nestings) { state in
      for key in streams.keys { state.outerStreams[key] = nil }
    }
  }

  private static func forEach(inside nestings: [Nesting], _ body: (inout State) -> Void) {
    var next = nestings
    while let inner = next.popLast()?.inner.core {
      body(&inner.state)
      next += inner.state.nestings
    }
  }

  /// Sends an event to the streams, on the thread that delivers the news.
  func yield(_ event: WorkflowEvent) {
    let (own, outer) = read { state in
      state.streams.isEmpty && state.outerStreams.isEmpty
        ? ([], [])
        : (Array(state.streams.values), event.isAboutTask ? Array(state.outerStreams.values) : [])
    }
    for stream in own { stream.continuation.yield(event) }
    for stream in outer { stream.continuation.yield(event) }
  }
}

extension WorkflowEvent {
  fileprivate var isAboutTask: Bool {
    switch self {
    case .taskDidStart, .taskDidFinish, .taskDidFail, .taskDidCancel, .taskDidSkip,
      .taskDidReset, .taskAttemptDidFail, .taskDidRetry:
      true
    case .workflowWillStart, .workflowWillCancel, .workflowWillReset, .workflowWillRetry,
      .workflowDidFinish, .runDidEnd:
      false
    }
  }
}
