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
  /// the closure has not started, it never starts. If it is running, its Swift task is
  /// cancelled; it keeps its slot until it returns, and its value is dropped.
  ///
  /// If the closure awaits a future that needs a slot of the same queue, and closures that
  /// wait in this way hold all slots, the await throws `ProperationsError.wouldDeadlock`.
  /// This holds for the task of the closure, not for child tasks and other tasks that the
  /// closure starts.
  ///
  /// The closure sees the task-local values of the caller, and keeps the actor isolation
  /// of the place where it is written.
  ///
  /// - Parameters:
  ///   - priority: The priority of the closure among the operations of the queue.
  ///   - barrier: Whether the closure waits for all operations that are in the queue, and
  ///     holds back operations that are added later until it has returned. On Apple's
  ///     platforms, and in queues of subclasses, a barrier blocks a thread.
  ///   - dependencies: Operations and futures that have to finish first, with whatever
  ///     result. A barrier takes its place in the queue when they have finished.
  ///   - body: The work.
  /// - Returns: A future of the closure's value. It fails with the error that the closure
  ///   throws; if that is a `CancellationError`, the future is cancelled. On the main queue
  ///   the future fails with `ProperationsError.blockingOnMainQueue`.
  @_disfavoredOverload
  public func run<Success: Sendable>(
    priority: Operation.QueuePriority = .normal, barrier: Bool = false,
    after dependencies: Operation..., fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    let start = AsyncStart<Success>()
    // The task starts in this call, so that it sees the task-local values of the caller and
    // has its priority.
    let task = Task {
      guard let slot = await start.slot else { return }
      do {
        slot.promise.fulfill(with: .success(try await slot.holder.run { try await body() }))
      } catch {
        slot.promise.fulfill(with: .failure(error))
      }
      slot.registration.end()
    }
    let opener = AsyncStart.Opener(start)
    let promise = BlockingPromise<Success>(executionContext: .inline, fileID: fileID, line: line) {
      [weak self] promise in
      // The queue starts the promise, so it exists now.
      guard let self else { return }
      promise.workHasStarted()
      opener.open(
        .init(
          promise: promise, holder: SlotHolder(promise, in: self),
          registration: promise.holdSlot()))
      promise.onCancellationRequest { task.cancel() }
    }
    promise.queuePriority = priority
    if self === OperationQueue.main {
      promise.fail(with: ProperationsError.blockingOnMainQueue)
    } else if barrier, !dependencies.isEmpty {
      join(promise, after: dependencies)
    } else {
      for dependency in dependencies { promise.addDependency(dependency) }
      _ = promise.join(self, asBarrier: barrier)
    }
    return promise
  }

  /// Puts a promise in the queue as a barrier after operations have finished.
  private func join(_ promise: AnyFuture, after dependencies: [Operation]) {
    let first = Promise<Void>()
    let all = first.mapToVoid()
    for dependency in dependencies { all.addDependency(dependency) }
    first.succeed()
    all.onCompletion(on: .inline) { result in
      if result.isSuccess { _ = promise.join(self, asBarrier: true) }
    }
    _ = promise.watch(.cancelled) { _ in all.cancel() }
  }
}

/// The moment at which an async closure gets its slot.
///
///   closed ── wait ──▶ waiting ── open or close ──▶ over
///      └── open or close ──▶ opened ── wait ──▶ over
private final class AsyncStart<Success: Sendable>: Sendable {
  // Sendable: `state` has a lock.
  struct Slot: Sendable {
    let promise: Promise<Success>
    let holder: SlotHolder
    let registration: Registration
  }

  private enum State {
    case closed
    case waiting(CheckedContinuation<Slot?, Never>)
    case opened(Slot?)
    case over
  }

  private let state = Lock(State.closed)

  /// Opens the start, or closes it permanently when the opener is released.
  ///
  /// The promise releases the opener together with its closure, when the closure cannot run
  /// any more.
  final class Opener: Sendable {
    private let start: AsyncStart

    init(_ start: AsyncStart) { self.start = start }

    func open(_ slot: Slot) { start.open(slot) }

    deinit { start.open(nil) }
  }

  /// The slot, after the queue has started the closure; `nil` if the queue never will.
  var slot: Slot? {
    get async {
      await withCheckedContinuation { continuation in
        let opened = state.withLock { state -> Slot?? in
          guard case .opened(let slot) = state else {
            state = .waiting(continuation)
            return nil
          }
          state = .over
          return slot
        }
        if let opened { continuation.resume(returning: opened) }
      }
    }
  }

  private func open(_ slot: Slot?) {
    let continuation = state.withLock { state -> CheckedContinuation<Slot?, Never>? in
      switch state {
      case .closed:
        state = .opened(slot)
        return nil
      case .waiting(let continuation):
        state = .over
        return continuation
      case .opened, .over:
        return nil
      }
    }
    continuation?.resume(returning: slot)
  }
}
