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
  /// closure starts, and for awaits of futures, not for iterations of sequences. Such a
  /// wait for a slot of the queue does not end before the closure is cancelled.
  ///
  /// The closure sees the task-local values of the caller, and keeps the actor isolation
  /// of the place where it is written. Like an operation, it has the quality of service of
  /// the queue, not the priority of the caller.
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
  ///   the future fails with `ProperationsError.blockingOnMainQueue`, on a queue that is
  ///   shut down with `ProperationsError.queueIsShutDown`.
  @_disfavoredOverload
  public func run<Success: Sendable>(
    priority: Operation.QueuePriority = .normal, barrier: Bool = false,
    after dependencies: Operation..., fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    // If the queue never starts the promise, the promise releases the opener with its
    // closure, and the task ends.
    let start = StartGate<AsyncSlot<Success>>()
    let opener = StartGate.Opener(of: start)
    // The task starts in this call, so that it sees the task-local values of the caller.
    let task = Task(priority: taskPriority) {
      guard let slot = await start.wait() else { return }
      do {
        slot.promise.fulfill(with: .success(try await slot.holder.run { try await body() }))
      } catch {
        slot.promise.fulfill(with: .failure(error))
      }
      slot.registration.end()
    }
    let begin: @Sendable (Promise<Success>) -> Void = { [weak self] promise in
      // The queue starts the promise, so it exists now.
      guard let self else { return }
      promise.workHasStarted()
      opener.open(
        with: AsyncSlot(
          promise: promise, holder: SlotHolder(promise, in: self),
          registration: promise.holdSlot()))
      promise.onCancellationRequest { task.cancel() }
    }
    let promise = BlockingPromise(fileID: fileID, line: line, startingDirectly: begin)
    promise.queuePriority = priority
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
  private func join(_ promise: AnyFuture, after dependencies: [Operation]) {
    let first = Promise<Void>()
    let all = first.mapToVoid()
    for dependency in dependencies { all.addDependency(dependency) }
    first.succeed()
    all.onCompletion(on: .inline) { result in
      if result.isSuccess { promise.joinUnlessShutDown(self, asBarrier: true) }
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

/// The slot that an async closure has got.
private struct AsyncSlot<Success: Sendable>: Sendable {
  let promise: Promise<Success>
  let holder: SlotHolder
  let registration: Registration
}

/// Holds a task up until a queue gives it a slot, or never will.
///
///   closed ── wait ──▶ awaited ── open ──▶ open
///      └─────────── open ────────────────▶ open
private final class StartGate<Slot: Sendable>: Sendable {
  private enum State {
    case closed
    case awaited(UnsafeContinuation<Slot?, Never>)
    case open(Slot?)
  }

  /// Opens the gate without a slot, if it is released before it has opened the gate with one.
  final class Opener: Sendable {
    private let gate: StartGate

    init(of gate: StartGate) { self.gate = gate }
    deinit { gate.open(with: nil) }

    func open(with slot: Slot) { gate.open(with: slot) }
  }

  private let state = Lock(State.closed)

  /// Waits for the slot; `nil` if the queue has dropped the work.
  func wait() async -> Slot? {
    await withUnsafeContinuation { continuation in
      let slot = state.withLock { state -> Slot?? in
        if case .open(let slot) = state { return slot }
        state = .awaited(continuation)
        return nil
      }
      if let slot { continuation.resume(returning: slot) }
    }
  }

  private func open(with slot: Slot?) {
    let continuation = state.withLock { state -> UnsafeContinuation<Slot?, Never>? in
      switch state {
      case .open: return nil
      case .closed:
        state = .open(slot)
        return nil
      case .awaited(let continuation):
        // The task gets the slot; the gate does not keep it.
        state = .open(nil)
        return continuation
      }
    }
    continuation?.resume(returning: slot)
  }
}
