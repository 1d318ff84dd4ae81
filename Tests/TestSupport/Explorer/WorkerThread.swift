#if PROPERATIONS_EXPLORER

  import Foundation

  /// A real thread that runs threads of programs, one after the other.
  final class WorkerThread: @unchecked Sendable {
    // Sendable: `next` is written before `wake` is signalled, and read after that.
    private let wake = DispatchSemaphore(value: 0)
    private let idle = DispatchSemaphore(value: 0)
    /// Not owned: the runner that made a program releases it.
    private var next: Unmanaged<ExploredThread>?

    init() {
      Thread { [self] in
        while true {
          wake.wait()
          guard let thread = next.take() else { return }
          thread._withUnsafeGuaranteedRef { $0.run() }
          idle.signal()
        }
      }.start()
    }

    /// Runs a thread, which the caller keeps until this worker is idle.
    func run(_ thread: ExploredThread) {
      next = Unmanaged.passUnretained(thread)
      wake.signal()
    }

    func waitUntilIdle() { idle.wait() }

    /// Ends the real thread, which must be idle.
    func end() {
      next = nil
      wake.signal()
    }
  }

#endif
