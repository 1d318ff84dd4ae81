// `Process` exists only on platforms on which a program can start programs.
#if os(macOS) || os(Linux) || os(Windows) || os(FreeBSD) || os(OpenBSD)
  import Foundation
  import Futures

  extension Process {
    /// Starts the process, and makes a future of its exit status.
    ///
    /// The future succeeds with the status when the process has ended, whatever the
    /// status is; `ensure` turns a status into a failure. If a signal has killed the
    /// program, the status is the number of the signal, and `terminationReason` says so.
    ///
    /// ```swift
    /// process.runAsFuture(in: queue).ensure { $0 == 0 }
    /// ```
    ///
    /// An error on launch fails the future. Cancelling the future settles it at once and
    /// terminates the process, or prevents its launch. The process and its file handles
    /// are released after it has ended. A termination handler that was set before is
    /// called too; set none afterwards.
    ///
    /// On Linux, Foundation notices the end only when the programs that the process has started
    /// have ended, too. So a shell that was terminated while a program of its own runs counts as
    /// running: let it replace itself by that program (`exec program`).
    ///
    /// - Parameter queue: A queue in which the process holds a slot from launch to end.
    ///   So a queue with `maxConcurrentOperationCount = 1` runs one process at a time.
    ///   Without a queue the process is launched at once. With `OperationQueue.main` the future
    ///   fails with `ProperationsError.blockingOnMainQueue`.
    public func runAsFuture(
      in queue: OperationQueue? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Future<Int32> {
      let launch = Launch(self)
      // Settles when the process has ended, even if the status has no consumer any more.
      // The slot is occupied until then.
      let end: Future<Int32>
      if let queue {
        end = Promises.makeBlocking(
          in: queue, promising: Int32.self, on: .inline, fileID: fileID, line: line
        ) { launch.start(fulfilling: $0) }
      } else {
        let promise = Promise<Int32>(fileID: fileID, line: line)
        launch.start(fulfilling: promise)
        end = promise
      }
      let status = end.shielded(fileID: fileID, line: line)
      let isWatching = status.watch(.cancelled) { _ in
        if !launch.stop() { end.cancel() }
      }
      if !isWatching, status.isCancelled, !launch.stop() { end.cancel() }
      return status
    }
  }

  /// The launch of a process for a future.
  ///
  ///   waiting ── start ──▶ launching ──▶ running ── stop ──▶ terminated
  ///      │                     └─ stop ─▶ doomed ─ launched ──▶ terminated
  ///      └─ stop ─▶ stopped: it will not be launched
  private final class Launch: Sendable {
    private enum State {
      case waiting, launching, running, doomed, stopped
    }

    private let state = Lock(State.waiting)
    private let process: Process

    init(_ process: Process) { self.process = process }

    /// Launches the process, unless it has been stopped.
    func start(fulfilling promise: Promise<Int32>) {
      // Cancelling the queue's operations settles the promise. The process ends later, or
      // not at all.
      let slot = promise.holdSlot()
      let isFirst = state.withLock { state in
        defer { if state == .waiting { state = .launching } }
        return state == .waiting
      }
      guard isFirst else { return }
      let previous = process.terminationHandler
      process.terminationHandler = { process in
        // The process keeps its handler, and the handler keeps the promise.
        process.terminationHandler = nil
        previous?(process)
        ProcessThread.release(process)
        promise.succeed(with: process.terminationStatus)
        slot.end()
      }
      do { try ProcessThread.launch(process) } catch {
        process.terminationHandler = previous
        promise.fail(with: error)
        return
      }
      let isDoomed = state.withLock { state in
        defer { state = .running }
        return state == .doomed
      }
      if isDoomed { process.terminate() }
      promise.onCancellationRequest { [self] in _ = stop() }
    }

    /// Ends the process.
    ///
    /// Returns `false` if the process has not been launched and will not be.
    func stop() -> Bool {
      let last = state.withLock { state in
        defer {
          if state == .waiting { state = .stopped }
          if state == .launching { state = .doomed }
        }
        return state
      }
      if last == .running, process.isRunning { process.terminate() }
      return last != .waiting && last != .stopped
    }
  }

  /// The thread that launches every process, and lets Foundation release it.
  ///
  /// On Linux an ended process stays in memory, with its file handles, until
  /// `waitUntilExit()` has been called. Launching and waiting give the thread a run loop,
  /// which has file handles too. The threads of a pool would have many of them. No user
  /// code runs on this thread.
  private enum ProcessThread {
    private struct Job {
      var body: (@Sendable () -> Void)?
      let isDone = BlockingSemaphore(value: 0)
    }

    private static let jobs = Lock<[Job]>([])
    private static let count: BlockingSemaphore = {
      let count = BlockingSemaphore(value: 0)
      let thread = Thread {
        while true {
          count.wait()
          var job = jobs.withLock { $0.removeFirst() }
          // The caller keeps the objects that the closure captures, so they are not
          // released here.
          releasingAutoreleased { job.body.take()?() }
          job.isDone.signal()
        }
      }
      thread.name = "Properations.Process"
      // A thread of an application's window may wait for this one.
      thread.qualityOfService = .userInitiated
      thread.start()
      return count
    }()

    static func launch(_ process: Process) throws {
      try perform { try runWithDefaultSignals(process) }
    }

    /// Makes Foundation release a process that has ended.
    static func release(_ process: Process) { try? perform { process.waitUntilExit() } }

    /// Runs a closure on the thread, and returns after the closure has ended.
    private static func perform(_ body: @escaping @Sendable () throws -> Void) throws {
      let result = Lock<Result<Void, any Error>>(.success(()))
      let job = Job(body: { result.replace(with: Result(catching: body)) })
      jobs.withLock { $0.append(job) }
      count.signal()
      job.isDone.wait()
      try result.withLock { $0 }.get()
    }

    /// Launches a process with no signals blocked.
    ///
    /// A program inherits the blocked signals of the thread that launches it. The threads
    /// of queues block nearly all signals, so such a program could not be terminated.
    private static func runWithDefaultSignals(_ process: Process) throws {
      #if os(Windows)
        try process.run()
      #else
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
      #endif
    }
  }
#endif
