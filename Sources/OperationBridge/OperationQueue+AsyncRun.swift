import Foundation
import Futures

extension OperationQueue {
  /// Runs an async closure in a slot of the queue.
  ///
  /// The closure starts when the queue would start an operation, and holds its slot until
  /// the closure has returned. So `maxConcurrentOperationCount` limits async work, and a
  /// serial queue runs one closure after the other, each to its end. No thread is blocked.
  ///
  /// ```swift
  /// let uploads = OperationQueue()
  /// uploads.maxConcurrentOperationCount = 4
  /// let receipts = pictures.map { picture in
  ///   uploads.run { try await upload(picture) }
  /// }
  /// ```
  ///
  /// Cancelling the future, or the operations of the queue, settles the future at once. If
  /// the closure has not got its slot, it never starts. If it is running, its Swift task is
  /// cancelled; it keeps its slot until it returns, and its value is dropped.
  ///
  /// If the closure awaits a future that needs a slot of the same queue, and closures that
  /// wait in this way hold all slots, the await throws `ProperationsError.wouldDeadlock`.
  /// This holds for the task of the closure, not for child tasks and other tasks that the
  /// closure starts, and for awaits of futures, not for iterations of sequences. Such a
  /// wait for a slot of the queue does not end before the closure is cancelled; the wait of an
  /// unstructured task does not even end then.
  ///
  /// The closure sees the task-local values of the caller, and keeps the actor isolation
  /// of the place where it is written. A closure without `await` is taken for one of the form
  /// that is not async, which has no isolation: write `{ () async in ... }` where it uses the
  /// state of an actor. Like an operation, it has the quality of service of
  /// the queue, not the priority of the caller. It tells how far it has come with
  /// `Promises.report(completed:of:)`.
  ///
  /// - Parameters:
  ///   - priority: The priority of the closure among the operations of the queue.
  ///   - barrier: Whether the closure waits for all operations that are in the queue, and
  ///     holds back operations that are added later until it has returned. On Apple's
  ///     platforms, and in queues of subclasses, a barrier blocks a thread, but not in a
  ///     `TaskQueue`. See `run(barrier:_:)` with a closure that is not async for a limit on
  ///     Linux.
  ///   - dependencies: Operations and futures that have to finish first, with whatever
  ///     result. The closure takes its place in the queue when they have finished, behind
  ///     what was ready before. It belongs to the queue from the beginning: cancelling,
  ///     waiting for all operations, shutting down and later barriers of this library
  ///     include it. (`operationCount` counts many that wait as one. If all operations of the
  ///     queue are cancelled and the closure waits for one of them, it may run: its dependency
  ///     has finished.)
  ///     For a closure in a variable, pass them as an array.
  ///
  ///     A barrier with dependencies does not belong to the queue before they have finished:
  ///     cancelling or waiting for all operations of the queue does not concern it, and a
  ///     queue that is shut down meanwhile refuses it. It does not wait for operations of the
  ///     queue that depend on it, and takes a place in front of barriers that wait for these.
  ///     (On Apple's platforms, and in queues of subclasses, also in a `TaskQueue`, there must be
  ///     none: they and the barrier would wait for each other.)
  ///   - body: The work.
  /// - Returns: A future of the closure's value. It fails with the error that the closure
  ///   throws; if that is a `CancellationError`, the future is cancelled. On the main queue
  ///   the future fails with `ProperationsError.blockingOnMainQueue`, on a queue that is
  ///   shut down with `ProperationsError.queueIsShutDown`.
  /// - Complexity: O(the number of dependencies). For a barrier see `run(barrier:_:)` with a
  ///   closure that is not async.
  @_disfavoredOverload
  public func run<Success: Sendable>(
    priority: Operation.QueuePriority = .normal, barrier: Bool = false,
    after dependencies: Operation..., fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    startAsync(
      priority, asBarrier: barrier, after: dependencies, at: Birthplace(fileID, line), body)
  }

  /// Runs an async closure in a slot of the queue, after operations and futures.
  ///
  /// ```swift
  /// let parts = files.map { file in disk.run { try await read(file) } }
  /// let index = disk.run(after: parts) { try await buildIndex() }
  /// ```
  ///
  /// See `run(priority:barrier:after:_:)` with a list of operations.
  ///
  /// - Parameters:
  ///   - priority: The priority of the closure among the operations of the queue.
  ///   - barrier: Whether the closure runs as a barrier.
  ///   - dependencies: Operations and futures that have to finish first. If there are none, the
  ///     closure waits for its slot only.
  ///   - body: The work.
  /// - Returns: A future of the closure's value.
  /// - Complexity: O(the number of dependencies). For a barrier see `run(barrier:_:)` with a
  ///   closure that is not async.
  public func run<Success: Sendable>(
    priority: Operation.QueuePriority = .normal, barrier: Bool = false,
    after dependencies: some Sequence<some Operation>,
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    startAsync(
      priority, asBarrier: barrier, after: dependencies.map { $0 as Operation },
      at: Birthplace(fileID, line), body)
  }

  private func startAsync<Success: Sendable>(
    _ priority: Operation.QueuePriority, asBarrier barrier: Bool, after dependencies: [Operation],
    at birthplace: Birthplace,
    _ body: sending @escaping @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    let run = AsyncRun(in: self)
    let holder = run.holder
    // Sendable: it is sent to this call, which hands it on to one task.
    nonisolated(unsafe) let body = body
    let runsOnMain = body.isolation === MainActor.shared
    // The task is made in this call, so that it sees the task-local values of the caller.
    run.task = holder.inNewTask {
      startingHere(priority: taskPriority) {
        guard await run.slot(), let future = holder.future else { return }
        let promise = unsafeDowncast(future, to: Promise<Success>.self)
        let time = ClosureTime()
        holder.willRun()
        let result: FutureResult<Success>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        holder.hasReturned()
        time?.end(closureOf: promise, on: .operationQueue(self))
        // An unwanted value is released before the slot is given back.
        promise.fulfill(with: consume result)
        promise.closureEnds()
        holder.leave()
      }
    }
    let promise = AsyncRunPromise<Success>(run, onMain: runsOnMain, at: birthplace)
    if priority != .normal { promise.queuePriority = priority }
    if self === OperationQueue.main {
      promise.fail(with: ProperationsError.blockingOnMainQueue)
    } else if barrier, !dependencies.isEmpty {
      join(promise, after: dependencies)
    } else {
      for dependency in dependencies { promise.addDependency(dependency) }
      promise.joinUnlessShutDown(self, asBarrier: barrier)
    }
    return promise
  }

  /// Puts a promise in the queue as a barrier after operations have finished.
  private func join<Success>(_ promise: Promise<Success>, after dependencies: [Operation]) {
    let first = Promise<Void>()
    let all = first.mapToVoid()
    for dependency in dependencies { all.addDependency(dependency) }
    // The search for cycles follows this dependency, and so does `explain()`.
    promise.addDependency(all)
    first.succeed()
    all.onCompletion(on: .inline) { result in
      if let error = result.failureValue {
        promise.fail(with: error)
      } else {
        promise.joinUnlessShutDown(self, asBarrier: true, isLate: true)
      }
    }
    _ = promise.watch(.cancelled) { _ in all.cancel() }
  }
}

extension OperationQueue {
  /// The priority of Swift tasks that work for the queue.
  private var taskPriority: TaskPriority {
    switch qualityOfService {
    case .userInteractive, .userInitiated: .userInitiated
    case .utility: .utility
    case .background: .background
    case .default: .medium
    @unknown default: .medium
    }
  }
}

/// Makes a task that runs on the calling thread until it waits for the first time.
///
/// That saves a hop. Older systems have only tasks that start with a hop.
private func startingHere(
  priority: TaskPriority, _ body: sending @escaping @isolated(any) () async -> Void
) -> Task<Void, Never> {
  if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
    Task.immediate(priority: priority, operation: body)
  } else {
    Task(priority: priority, operation: body)
  }
}

/// A promise for the value of an async closure.
///
/// It occupies its queue until the closure has returned.
private final class AsyncRunPromise<Success: Sendable>: Promise<Success>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let run: AsyncRun

  init(_ run: AsyncRun, onMain runsOnMain: Bool, at birthplace: Birthplace) {
    self.run = run
    super.init(
      occupyingQueueFor: .inline, isKeptByWork: true, runsOnMain: runsOnMain, name: nil,
      at: birthplace)
    _ = watch(with: run)
  }

  /// Takes the slot and lets the task go on.
  override func start() {
    super.start()
    guard isExecuting, run.isFirstStart() else { return }
    closureBegins()
    run.begin(for: self)
  }
}
