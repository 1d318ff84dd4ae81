import Foundation
import Futures

/// A piece of work that produces a value, or fails in a way that its type says.
///
/// Subclass it and override ``execute()``; call ``finish(with:)`` when the work
/// is done, there or later, on any thread. Add the task to a ``TaskQueue``.
/// Where a closure is enough, use ``BlockProducerTask``.
///
/// ```swift
/// final class CountLines: ProducerTask<Int, CocoaError>, @unchecked Sendable {
///   private let path: String
///
///   init(of path: String) {
///     self.path = path
///     super.init(qos: .utility)
///   }
///
///   override func execute() {
///     guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
///       return finish(with: .failure(.provided(CocoaError(.fileReadUnknown))))
///     }
///     finish(with: .success(text.split(separator: "\n").count))
///   }
/// }
/// ```
///
/// A task **is** a `Future`: you can await its `value`, attach `onSuccess`, map
/// it, wait for it, cancel it. ``produced`` is the typed view of its result.
///
/// ## The life of a task
///
/// Made, it does nothing until it is in a queue. There it waits, outside of the
/// queue's slots, until all its dependencies have finished, the barriers in front of it
/// have run, all its conditions are met and no other task of its categories runs. Then
/// it gets a slot and its categories in one step, and ``execute()`` runs. Both are its
/// own until it is finished and its work has returned.
///
/// When it finishes, its handlers (``receive(completion:)``, then
/// ``assign(to:on:isolation:)``), ``finished(with:)`` and its observers are called.
/// `isFinished` is `true` in all of them. Handlers on the main actor, on another actor and on
/// a queue of their own are handed over to it; all else runs here, where the task finishes.
/// Then those that wait for the task are told. So a handler that runs here delays them: keep
/// it short, or name a queue with ``receive(on:)-(DispatchQueue)``; and one that was handed
/// over may still run when they go on.
///
/// ## Operators, and combinators of futures
///
/// `map`, `catch`, `zip` and the other operators make *tasks*: nothing happens
/// before the last one of a chain is added to a queue, and whoever awaits one
/// that is in none waits for ever. `mapToValue`, `recover`, `onSuccess` and the
/// others of `Future` make *futures*, which go on by themselves when the task
/// has finished. Where both have a name, `timeout(after:)` and `delay(for:)`, it
/// is the operator on a task; `(task as Future<Int>).timeout(after:)` is the
/// other.
///
/// To futures the error of a task is a ``ProducerTaskProtocolError``.
/// `recover(from:)` looks inside it: `recover(from: CocoaError.self)` takes a
/// provided `CocoaError`.
///
/// ## Cancelling
///
/// Before it executes, a cancelled task finishes at once with
/// ``ProducerTaskError/cancelled``, and ``execute()`` is never called. While it
/// executes, `cancel()` is a request: `isCancelled` is `true`, observers and
/// ``onCancellationRequest(_:)`` are told once, and the work decides what it
/// finishes with. An ``execute()`` that returns without having finished a task
/// that was cancelled meanwhile finishes it as cancelled.
///
/// A task is also asked to cancel when the last one who wanted its value has
/// been cancelled. Stages (also those that are in no queue yet), consumers that
/// are in a queue, futures made from it, their handlers and those who await it
/// count as wanting it. Handlers of
/// ``receive(completion:)``, assignments, observers and tasks that only depend
/// on it do not: they look on. A task that you have added to a queue yourself, and that
/// did not only come in with a stage or consumer below it, is there for its own sake:
/// no stage or consumer takes it along.
open class ProducerTask<Output: Sendable, Failure: Error>: Future<Output>, ProducerTaskProtocol,
  @unchecked Sendable
{
  // Sendable: everything mutable is in the core, under its lock.

  /// The result of the task.
  public typealias Produced = Result<Output, ProducerTaskProtocolError<Failure>>

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for people; that of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the tasks of a queue that are ready.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      behaviour: TypedTaskCore<Output, Failure>(), at: Birthplace(fileID, line))
    setScheduling(name: name, qos: qos, priority: priority)
  }

  /// For the tasks of this module.
  // (Usable from inline only so that classes elsewhere inherit the convenience
  // initialisers of subclasses: one designated initialiser that is hidden from
  // them forbids that.)
  @usableFromInline
  init(
    core: any FutureBehaviour, name: String?, qos: QualityOfService,
    priority: Operation.QueuePriority,
    upstream: AnyFuture? = nil, work: Work? = nil, at birthplace: Birthplace
  ) {
    super.init(behaviour: core, upstream: upstream, at: birthplace, work: work)
    setScheduling(name: name, qos: qos, priority: priority)
  }

  private func setScheduling(
    name: String?, qos: QualityOfService, priority: Operation.QueuePriority
  ) {
    // Each of these costs something, and mostly none is asked for.
    if let name { self.name = name }
    if qos != .default { qualityOfService = qos }
    if priority != .normal { queuePriority = priority }
  }

  deinit { core.releaseWithoutRecursion(self) }

  // MARK: Work

  /// The work of the task: override it.
  ///
  /// Called once, in a slot of the queue, when everything that the task waits
  /// for is done; never if the task was cancelled before. It must lead to one
  /// call of ``finish(with:)``, before it returns or later, on any thread.
  ///
  /// - Precondition: A subclass overrides it; this one traps, and says so.
  open func execute() {
    // (`preconditionFailure` says nothing in optimised builds.)
    fatalError(
      "\(String(describing: Self.self)).execute() must be overridden. Do the work there and call "
        + "finish(with:).")
  }

  /// Ends the task.
  ///
  /// The first call wins; later ones, and those after a cancellation that came
  /// before the task executed, change nothing. Any thread.
  ///
  /// - Parameter produced: The result.
  @inlinable
  open func finish(with produced: Produced) { settle(with: produced) }

  /// Called once when the task has finished, whatever its result: for
  /// subclasses that have something to clean up.
  ///
  /// It runs where the task finished, after the handlers of
  /// ``receive(completion:)`` (or after they were handed to their queue) and
  /// before the observers are told.
  ///
  /// - Parameter produced: The result.
  open func finished(with produced: Produced) {}

  /// Called once when the task is put in a queue, before it can run: for
  /// subclasses that have something to prepare.
  open func willEnqueue() {}

  // Inlinable, because code that does not know the types looks the metadata of
  // the result up.
  @discardableResult @inlinable
  final func settle(with produced: Produced) -> Bool {
    settle(produced, from: originOfSettlement)
  }

  /// Settles with a result; `false` if it had settled before.
  @discardableResult @inlinable
  final func settle(_ produced: Produced, from origin: SettlementOrigin) -> Bool {
    switch produced {
    case .success(let value): return settle(success: value, from: origin)
    case .failure(let error):
      return settle(failing: error, from: origin)
    }
  }

  /// Settles with an error, or with a cancellation if that is what it says.
  @discardableResult @usableFromInline
  final func settle(
    failing error: ProducerTaskProtocolError<Failure>, from origin: SettlementOrigin
  ) -> Bool {
    settle(error.saysCancelled ? .cancelled : .failure, from: origin) { storeError(error) }
  }

  // MARK: Result

  /// The result, or `nil` while there is none.
  ///
  /// Any thread. The same as `result`, with the type of the error.
  public final var produced: Produced? { isSettled ? settledProduced : nil }

  /// The value, as soon as it is there; throws the error of a task that failed,
  /// with its type.
  ///
  /// The same as `value`, for a `catch` that knows what it can get:
  ///
  /// ```swift
  /// do {
  ///   return try await page.get().count
  /// } catch .provided(let error) {
  ///   return error.code == .timedOut ? 0 : -1
  /// } catch {
  ///   return -2
  /// }
  /// ```
  ///
  /// Cancelling the awaiting task ends the wait with `CancellationError` as the
  /// `.internal` error; this task and all others who wait are unaffected.
  ///
  /// - Throws: ``ProducerTaskProtocolError``.
  public final func get() async throws(ProducerTaskProtocolError<Failure>) -> Output {
    switch await completion {
    case .success(let value): return value
    case .failure(let error):
      throw error as? ProducerTaskProtocolError<Failure> ?? .internal(error)
    }
  }

  /// The result of a task that is known to have settled.
  final var settledProduced: Produced {
    guard let error = anyError else { return .success(settledValue) }
    if let error = error as? ProducerTaskProtocolError<Failure> { return .failure(error) }
    return .failure(.internal(error))
  }

  // MARK: Life as an operation

  /// The priority among the tasks of a queue that are ready.
  ///
  /// It may be changed until the task executes.
  open override var queuePriority: Operation.QueuePriority {
    get { super.queuePriority }
    set {
      super.queuePriority = newValue
      core.priorityHasChanged(self)
    }
  }

  /// The name that it was given, or that of its type.
  open override var name: String? {
    get { super.name ?? defaultName }
    set { super.name = newValue }
  }

  /// Whether nothing keeps the task from running: it has, or waits for, a slot
  /// of its queue, or executes; or has finished.
  open override var isReady: Bool {
    SchedulingPoints.suspend()
    defer { SchedulingPoints.resume() }
    if isSettled { return super.isReady }
    return core.isReady(self)
  }

  /// Whether the task executes.
  open override var isExecuting: Bool {
    unexplored { !isSettled && core.phase == .executing }
  }

  /// Whether the task was asked to cancel, or has finished as cancelled.
  open override var isCancelled: Bool {
    unexplored { super.isCancelled || core.isCancelRequested }
  }

  /// Cancels the task: at once if it has not begun to execute, by a request
  /// otherwise.
  ///
  /// Once; never again after that, nor when the task has finished.
  open override func cancel() { core.cancel(self) }

  /// Queues call this; there is no reason to call it yourself.
  ///
  /// A task that is started by hand fails with
  /// ``ProducerTaskError/notEnqueued(task:)``: add it to a queue. One that is in a
  /// queue goes on as if nobody had.
  open override func start() {
    if core.prepareForeignStart(self) { super.start() }
    core.runInForeignQueue(self)
  }

  /// Blocks the calling thread until the task has finished.
  ///
  /// Its handlers may still be running then; `wait(timeout:)` and `await` come
  /// back after those that run where the task finishes.
  ///
  /// - Precondition: The task does not need the calling queue in order to
  ///   finish: that would never end.
  open override func waitUntilFinished() {
    if !isSettledAndTold { super.waitUntilFinished() }
  }

  // MARK: Dependencies on operations of any kind

  /// Makes the task wait until an operation has finished.
  ///
  /// A future counts as finished when it has settled.
  ///
  /// - Parameter operation: What has to finish first.
  @_disfavoredOverload
  open override func addDependency(_ operation: Operation) {
    core.addDependency(operation, to: self)
  }

  /// Takes a dependency back.
  ///
  /// - Parameter operation: What need not finish any more.
  @_disfavoredOverload
  open override func removeDependency(_ operation: Operation) {
    core.removeDependency(operation, from: self)
  }

  /// What has to finish first; nothing once the task itself has finished.
  open override var dependencies: [Operation] { core.dependencies }

  // MARK: Describing

  /// The name, the type, the state, what it waits for and where it was made.
  open override var debugDescription: String {
    let own = "\(String(describing: Self.self)) \"\(name ?? "")\""
    return "\(own) (\(core.stateDescription(self))), created at "
      + "\(createdAt.fileID):\(createdAt.line)"
  }

  /// The same as ``debugDescription``.
  open override var description: String { debugDescription }

  // MARK: Inside the module

  /// The name of a task that was given none.
  var defaultName: String { String(describing: Self.self) }

  final var core: TaskCore { unsafeDowncast(behaviour.unsafelyUnwrapped, to: TaskCore.self) }
}

extension AnyFuture {
  /// Who makes a settlement that happens now on this thread: the work itself,
  /// if it is just running here.
  @usableFromInline
  final var originOfSettlement: SettlementOrigin {
    WorkLoop.isPlaceOccupied(by: self) ? .closure : .outside
  }

  /// What makes the future a task, if it is one.
  var taskCore: TaskCore? { behaviour as? TaskCore }

  /// The name of a task, for people.
  var taskName: String { name ?? String(describing: type(of: self)) }
}
