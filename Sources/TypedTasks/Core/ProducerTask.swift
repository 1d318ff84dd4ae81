import Foundation
import Futures

/// A piece of work that produces a value, or fails with an error of a declared type.
///
/// Subclass it and override ``execute()``. Call ``finish(with:)`` when the work is done,
/// before ``execute()`` returns or later, on any thread. Add the task to a ``TaskQueue``.
/// If a closure is enough, use ``BlockProducerTask``.
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
/// A task **is** a `Future`: you can await its `value`, attach `onSuccess`, map it, wait
/// for it, cancel it. ``produced`` is the typed view of its result.
///
/// Parameters `fileID` and `line` record the place in the source; leave them out.
///
/// ## The life of a task
///
/// A new task does nothing until it is in a queue. There it waits, without a slot, until
/// all its dependencies have finished, the barriers in front of it have run, all its
/// conditions are met and no other task of its categories runs. Then it gets a slot and
/// its categories in one step, and ``execute()`` runs. It keeps both until it has
/// finished and its work has returned.
///
/// A task that finishes calls its handlers (``receive(completion:)``, then
/// ``assign(to:on:isolation:)``), then ``finished(with:)``, then its observers.
/// `isFinished` is `true` in all of them, unless the task is cancelled in a plain operation
/// queue that has not started it. Handlers on the main actor, on another actor
/// and on a queue of their own are handed over to that context; all other handlers run
/// where the task finishes.
///
/// After that, the waiters of the task are told. So a handler that runs where the task
/// finishes delays them: keep it short, or name a queue with
/// ``receive(on:)-(DispatchQueue)``. A handler that was handed over may still run when
/// the waiters continue. If a closure of another task or future finishes or cancels the
/// task, its handlers, its waiters and its slot have to wait until that closure has
/// returned.
///
/// ## Operators, and combinators of futures
///
/// `map`, `catch`, `zip` and the other operators make *tasks*. Nothing happens before the
/// last operator of a chain is added to a queue, and a caller that awaits a task in no
/// queue waits forever. `mapToValue`, `recover`, `onSuccess` and the other combinators
/// of `Future` make *futures*, which continue by themselves when the task has finished.
/// Two names are in both groups, `timeout(after:)` and `delay(for:)`: on a task they are
/// the operators. `(task as Future<Int>).timeout(after:)` is the combinator.
///
/// For futures, the error of a task is a ``ProducerTaskProtocolError``. `recover(from:)`
/// looks inside it: `recover(from: CocoaError.self)` takes a provided `CocoaError`.
///
/// ## Cancelling
///
/// A task that is cancelled before it executes finishes at once with
/// ``ProducerTaskError/cancelled``, and ``execute()`` is never called. While the task
/// executes, `cancel()` is a request: `isCancelled` is `true`, observers and
/// ``onCancellationRequest(_:)`` are told once, and the work decides on the result. If
/// ``execute()`` returns after such a request and has not finished the task, the task
/// finishes as cancelled.
///
/// A task is also asked to cancel when its last consumer has been cancelled. Its consumers are
/// operators, even in no queue, consumer tasks that are in a queue, groups that it is a member
/// of, futures made from the task, handlers of these futures, and callers that await the task. (A
/// caller whose await is cancelled is simply no longer there: the task is asked to cancel if no
/// consumer is left, and another one was cancelled before.) Handlers of ``receive(completion:)``,
/// assignments, observers and tasks that only depend on the task are watchers: they do not count.
/// A task that you have added to a queue or to a group yourself is independent of its downstream
/// operators and consumer tasks: their cancellation does not cancel it.
open class ProducerTask<Output: Sendable, Failure: Error>: Future<Output>, ProducerTaskProtocol,
  @unchecked Sendable
{
  // Sendable: everything mutable is in the core, under its lock.

  /// The result of the task.
  public typealias Produced = Result<Output, ProducerTaskProtocolError<Failure>>

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      behaviour: TypedTaskCore<Output, Failure>(), at: Birthplace(fileID, line))
    setScheduling(name: name, qos: qos, priority: priority)
  }

  /// Makes a task of this module.
  // `@usableFromInline` only so that classes of other modules inherit the convenience
  // initialisers of subclasses. One hidden designated initialiser would prevent that.
  @usableFromInline
  init(
    core: any FutureBehaviour, name: String?, qos: QualityOfService,
    priority: Operation.QueuePriority,
    upstream: AnyFuture? = nil, work: Work? = nil, at birthplace: Birthplace
  ) {
    super.init(behaviour: core, upstream: upstream, at: birthplace, work: work)
    setScheduling(name: name, qos: qos, priority: priority)
  }

  final func setScheduling(
    name: String? = nil, qos: QualityOfService, priority: Operation.QueuePriority
  ) {
    // Each of these costs time, and most tasks use none of them.
    if let name { self.name = name }
    if qos != .default { qualityOfService = qos }
    if priority != .normal { queuePriority = priority }
  }

  deinit { core.releaseWithoutRecursion(self) }

  // MARK: Work

  /// The work of the task; override this method.
  ///
  /// It is called once, in a slot of the queue, when all waits of the task have ended. It
  /// is never called if the task was cancelled before. It must lead to one call of
  /// ``finish(with:)``, before it returns or later, on any thread.
  ///
  /// - Precondition: A subclass overrides this method. The base method stops the process
  ///   with a message.
  open func execute() {
    // `preconditionFailure` prints no message in optimised builds.
    fatalError(
      "\(String(describing: Self.self)).execute() must be overridden. Do the work there and call "
        + "finish(with:).")
  }

  /// Ends the task with a result.
  ///
  /// The first call counts. Later calls, and calls after a cancellation that came before
  /// the task executed, change nothing. It can be called on any thread.
  ///
  /// - Parameter produced: The result.
  @inlinable
  open func finish(with produced: Produced) { settle(with: produced) }

  /// Called once when the task has finished, with any result.
  ///
  /// Subclasses may override it to clean up.
  ///
  /// It runs where the task finishes, after the handlers of ``receive(completion:)`` have
  /// run or were handed to their queue, and before the observers are told.
  ///
  /// - Parameter produced: The result.
  open func finished(with produced: Produced) {}

  /// Called once when the task is put in a queue, before it can run.
  ///
  /// Subclasses may override it to prepare. The task ends only when this call has returned, so do
  /// not wait here for the task, or for a future that needs it: the wait throws
  /// `ProperationsError.cycle(createdAt:)`.
  open func willEnqueue() {}

  // Inlinable, because code that does not know the types has to look up the metadata of
  // the result.
  @discardableResult @inlinable
  final func settle(with produced: Produced) -> Bool {
    settle(produced, from: originOfSettlement)
  }

  /// Settles with a result; `false` if the task had settled before.
  @discardableResult @inlinable
  final func settle(_ produced: Produced, from origin: SettlementOrigin) -> Bool {
    switch produced {
    case .success(let value): return settle(success: value, from: origin)
    case .failure(let error):
      return settle(failing: error, from: origin)
    }
  }

  /// Settles with an error, or as cancelled if the error says so.
  @discardableResult @usableFromInline
  final func settle(
    failing error: ProducerTaskProtocolError<Failure>, from origin: SettlementOrigin
  ) -> Bool {
    settle(error.saysCancelled ? .cancelled : .failure, from: origin) { storeError(error) }
  }

  // MARK: Result

  /// The result, or `nil` while there is none.
  ///
  /// The same as `result`, with the type of the error. It can be read on any thread.
  public final var produced: Produced? { isSettled ? settledProduced : nil }

  /// Returns the value when the task succeeds; throws the typed error of a task that
  /// failed.
  ///
  /// The same as `value`, for a `catch` that knows all possible errors:
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
  /// Cancelling the awaiting Swift task ends the wait with `CancellationError` as the
  /// `.internal` error. This task is not affected, unless another consumer was cancelled before
  /// and no consumer is left now; its other waiters are not.
  ///
  /// - Throws: ``ProducerTaskProtocolError``.
  public final func get() async throws(ProducerTaskProtocolError<Failure>) -> Output {
    switch await completion {
    case .success(let value): return value
    case .failure(let error):
      throw error as? ProducerTaskProtocolError<Failure> ?? .internal(error)
    }
  }

  /// The result of a task that has settled.
  final var settledProduced: Produced {
    guard let error = anyError else { return .success(settledValue) }
    if let error = error as? ProducerTaskProtocolError<Failure> { return .failure(error) }
    return .failure(.internal(error))
  }

  // MARK: Life as an operation

  /// The priority among the ready tasks of a queue.
  ///
  /// It may be changed until the task executes.
  open override var queuePriority: Operation.QueuePriority {
    get { super.queuePriority }
    set {
      let isChange = newValue != super.queuePriority
      super.queuePriority = newValue
      if isChange { core.priorityHasChanged(self) }
    }
  }

  /// The name that the task was given, or the name of its type.
  open override var name: String? {
    get { super.name ?? defaultName }
    set { super.name = newValue }
  }

  /// Whether nothing keeps the task from running.
  ///
  /// The task has a slot of its queue or waits for one, executes, or has finished.
  open override var isReady: Bool {
    SchedulingPoints.suspend()
    defer { SchedulingPoints.resume() }
    if isSettled { return super.isReady }
    return core.isReady(self) && isFreeForFoundation
  }

  /// Whether the task executes.
  open override var isExecuting: Bool {
    unexplored { !isSettled && core.phase == .executing }
  }

  /// Whether the task was asked to cancel, or has finished as cancelled.
  open override var isCancelled: Bool {
    unexplored { super.isCancelled || core.isCancelRequested }
  }

  /// Cancels the task: at once if it does not execute yet, otherwise by a request.
  ///
  /// Further calls, and calls after the task has finished, do nothing.
  open override func cancel() { core.cancel(self) }

  /// Queues call this method; there is no reason to call it yourself.
  ///
  /// A task in no queue that is started by hand fails with
  /// ``ProducerTaskError/notEnqueued(task:)``: add it to a queue. A call by hand changes
  /// nothing for a task that is in a queue.
  open override func start() {
    guard core.prepareForeignStart(self) else { return }
    super.start()
    core.runInForeignQueue(self)
  }

  /// Blocks the calling thread until the task has finished.
  ///
  /// Its handlers may still run then. `wait(timeout:)` and `await` return after the
  /// handlers that run where the task finishes.
  ///
  /// - Precondition: The task does not need the calling queue to finish. Otherwise the
  ///   call never returns.
  open override func waitUntilFinished() {
    if !isSettledAndTold { super.waitUntilFinished() }
  }

  // MARK: Dependencies on operations of any kind

  /// Makes the task wait until an operation has finished.
  ///
  /// A future counts as finished when it has settled. The task keeps the operation until
  /// the task itself has finished. It does not keep a pending promise: a promise that is
  /// dropped counts as finished.
  ///
  /// `Operation` declares that this method returns nothing. In a chain of calls, pass a
  /// single operation in an array to ``addDependencies(_:)``.
  ///
  /// - Parameter operation: The operation that has to finish first.
  @_disfavoredOverload
  open override func addDependency(_ operation: Operation) {
    core.addDependency(operation, to: self)
  }

  /// Removes a dependency.
  ///
  /// - Parameter operation: The operation that the task no longer waits for.
  @_disfavoredOverload
  open override func removeDependency(_ operation: Operation) {
    core.removeDependency(operation, from: self)
  }

  /// The operations that have to finish first; empty once the task itself has finished.
  open override var dependencies: [Operation] { core.dependencies }

  // MARK: Describing

  /// The name, the type, the state, what the task waits for, and where it was made.
  open override var debugDescription: String {
    let own = "\(String(describing: Self.self)) \"\(name ?? "")\""
    return "\(own) (\(core.stateDescription(self))), created at "
      + "\(createdAt.fileID):\(createdAt.line)"
  }

  /// The same as ``debugDescription``.
  open override var description: String { debugDescription }

  // MARK: Inside the module

  /// The name of a task that was given no name.
  var defaultName: String { String(describing: Self.self) }

  final var core: TaskCore { unsafeDowncast(behaviour.unsafelyUnwrapped, to: TaskCore.self) }
}

extension AnyFuture {
  /// The origin of a settlement that happens now on this thread: the work of the task, if
  /// it runs here.
  @usableFromInline
  final var originOfSettlement: SettlementOrigin {
    WorkLoop.isPlaceOccupied(by: self) ? .closure : .outside
  }

  /// The core of a task; `nil` for a future that is not a task.
  var taskCore: TaskCore? { behaviour as? TaskCore }

  /// The name of a task for descriptions.
  var taskName: String { name ?? String(describing: type(of: self)) }
}
