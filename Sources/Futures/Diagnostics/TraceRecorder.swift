import Foundation

/// Records what runs when, for a picture of futures, tasks and workflows in one place.
///
/// ```swift
/// let recorder = TraceRecorder()
/// recorder.start()
/// let report = try await makeReport().value
/// recorder.stop()
/// try recorder.json.write(toFile: path, atomically: true, encoding: .utf8)
/// ```
///
/// Open the file at [ui.perfetto.dev](https://ui.perfetto.dev) or `chrome://tracing`. It shows:
///
/// - each closure of a future that ran on a queue or another context, in a row named after
///   that context. Closures that run inline are part of no row. An async closure of
///   `queue.run` is there as long as it holds its slot;
/// - each typed task, from the beginning of its `execute()` until it settled, in a row named
///   after its queue. Each attempt of a `retry` is a task;
/// - the attempts of the tasks of each workflow that was added with `add(_:)`.
///
/// Names appear as they are, shortened to 80 characters. Closures without a name are named
/// after the file and the line where their future was made.
///
/// A recorder keeps a limited number of events, the latest ones. While none records, the
/// library reads one atomic flag for each closure that it runs in a queue, and does nothing
/// else.
///
/// The format is that of Chrome's trace viewer, the Trace Event Format.
public final class TraceRecorder: Sendable {
  private struct Event {
    let process: String
    let slice: TraceSlice
  }

  /// A task that executes.
  private struct Running {
    let began: UInt64
    let track: String
    let name: String
    let createdAt: CreationSite

    func slice(_ state: String, until now: UInt64) -> TraceSlice {
      TraceSlice(
        track: track, category: "task", name: name, began: began, ended: now,
        details: [
          ("state", JSONText.quoted(state)),
          ("createdAt", JSONText.quoted(createdAt.description)),
        ])
    }
  }

  private struct State {
    /// A ring: the oldest event is at `oldest` once the limit is reached.
    var events: [Event] = []
    var oldest = 0
    var running: [ObjectIdentifier: Running] = [:]
    var dropped = 0
  }

  private static let closures = "Closures"
  private static let tasks = "Tasks"

  /// The greatest number of events that the recorder keeps.
  public let limit: Int
  // No code of a user runs under this lock.
  private let state = Lock(State())

  /// Makes a recorder, which records nothing before ``start()``.
  ///
  /// - Parameter limit: The greatest number of events to keep, each of a few hundred bytes. A
  ///   number less than one counts as one.
  public init(limit: Int = 100_000) { self.limit = max(limit, 1) }

  // MARK: Recording

  /// Begins to record closures and typed tasks.
  ///
  /// One recorder of the process records at a time: another one that records is stopped. A
  /// recorder that was stopped goes on with its earlier events.
  public func start() {
    let former = DiagnosticsHook.record(with: self)
    if former !== self { former?.end() }
  }

  /// Ends the recording.
  ///
  /// Typed tasks that execute are recorded as executing until now. The events stay. A
  /// recorder that does not record is not changed.
  public func stop() {
    DiagnosticsHook.record(with: nil, insteadOf: self)?.end()
  }

  /// Whether the recorder records.
  public var isRecording: Bool { DiagnosticsHook.recorder === self }

  /// The number of events that the recorder has kept.
  public var count: Int { state.withLock { $0.events.count } }

  /// The number of events that were dropped, because there were more than the limit.
  public var droppedCount: Int { state.withLock { $0.dropped } }

  /// The recording in the trace format of Chrome, which Perfetto opens.
  ///
  /// It can be read at any time. Typed tasks that execute are shown as executing until now.
  ///
  /// - Complexity: O(*n* log *n*) in the number of events.
  public var json: String {
    let (events, running, dropped) = state.withLock { state in
      (state.events, state.running, state.dropped)
    }
    let now = Self.now
    let all =
      events
      + running.values.map { Event(process: Self.tasks, slice: $0.slice("executing", until: now)) }
    var groups = [Self.closures: [TraceSlice](), Self.tasks: []]
    var names = [Self.closures, Self.tasks]
    for event in all {
      if groups[event.process] == nil { names.append(event.process) }
      groups[event.process, default: []].append(event.slice)
    }
    let processes = names.compactMap { name -> TraceProcess? in
      guard let slices = groups[name], !slices.isEmpty else { return nil }
      return TraceProcess(name: name, slices: slices.sorted { $0.began < $1.began })
    }
    return TraceText.json(
      processes, summary: "\(all.count) events, \(dropped) older events were dropped.")
  }

  /// Adds slices that something else has recorded.
  package func add(_ processes: [TraceProcess]) {
    for process in processes {
      let name = AnyFuture.shortened(process.name)
      for var slice in process.slices {
        slice.name = AnyFuture.shortened(slice.name)
        append(Event(process: name, slice: slice))
      }
    }
  }

  private func append(_ event: Event) {
    // The event that has to go is released after unlock.
    let last = state.withLock { state -> Event? in
      guard state.events.count >= limit else {
        state.events.append(event)
        return nil
      }
      state.dropped += 1
      defer { state.oldest = (state.oldest + 1) % limit }
      let last = state.events[state.oldest]
      state.events[state.oldest] = event
      return last
    }
    withExtendedLifetime(last) {}
  }

  private func end() {
    let running = state.withLock { state in
      defer { state.running = [:] }
      return state.running
    }
    let now = Self.now
    for task in running.values.sorted(by: { $0.began < $1.began }) {
      append(Event(process: Self.tasks, slice: task.slice("executing", until: now)))
    }
  }

  // MARK: Events of the engine

  /// Whether a recorder records.
  @inline(__always)
  package static var isOn: Bool { DiagnosticsHook.hears(.trace) }

  /// Nanoseconds of the monotonic clock, which workflows use too.
  static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  /// Records a closure of a future that has run.
  static func record(
    closureOf future: AnyFuture, on context: ContextReference, from began: UInt64
  ) {
    guard let recorder = DiagnosticsHook.recorder else { return }
    let slice = TraceSlice(
      track: AnyFuture.shortened(context.title), category: "closure",
      name: title(of: future.ownName, future.createdAt), began: began, ended: now,
      details: details(of: future.createdAt))
    recorder.append(Event(process: closures, slice: slice))
  }

  /// Notes that a task begins to execute.
  package static func taskBegins(_ task: AnyFuture, in queue: OperationQueue?) {
    guard let recorder = DiagnosticsHook.recorder else { return }
    let running = Running(
      began: now, track: AnyFuture.shortened(queue?.nameInErrors ?? "no task queue"),
      name: title(of: task.ownName, task.createdAt), createdAt: task.createdAt)
    recorder.state.withLock { state in
      if state.running.count >= recorder.limit {
        state.dropped += 1
      } else {
        state.running[ObjectIdentifier(task)] = running
      }
    }
    // The recorder does not hear of a task that ends after the recorder was stopped.
    if DiagnosticsHook.recorder !== recorder {
      recorder.state.withLock { $0.running[ObjectIdentifier(task)] = nil }
    }
  }

  /// Records a task that has settled, if it has executed.
  package static func taskEnds(_ task: AnyFuture) {
    guard let recorder = DiagnosticsHook.recorder else { return }
    let running = recorder.state.withLock { $0.running.removeValue(forKey: ObjectIdentifier(task)) }
    guard let running else { return }
    let isSuccess = task.outcome == .success
    let state = isSuccess ? "succeeded" : task.isCancelled ? "cancelled" : "failed"
    recorder.append(Event(process: tasks, slice: running.slice(state, until: now)))
  }

  private static func title(of name: String?, _ site: CreationSite) -> String {
    if let name { return AnyFuture.shortened(name) }
    let file = site.fileID.split(separator: "/").last.map(String.init) ?? site.fileID
    return "\(file):\(site.line)"
  }

  private static func details(of site: CreationSite) -> [(String, String)] {
    [("createdAt", JSONText.quoted(site.description))]
  }
}
