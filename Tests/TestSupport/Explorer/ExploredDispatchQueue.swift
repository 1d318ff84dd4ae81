#if PROPERATIONS_EXPLORER

  import Foundation
  import Synchronization

  /// A serial dispatch queue whose blocks run when a thread of a program has the
  /// turn: in a thread of Dispatch, which then counts as that thread.
  ///
  /// It is the underlying queue of operation queues, each of which it has to be
  /// told of: nothing else says when there is something to do.
  package final class ExploredDispatchQueue: @unchecked Sendable {
    // Sendable: the rest is only changed by the declaration of a program.
    package let queue = DispatchQueue(label: "explored")
    private var operationQueues: [OperationQueue] = []
    unowned(unsafe) var thread: ExploredThread!

    private static let wasMade = Synchronization.Atomic<Bool>(false)
    /// Whether any thread of Dispatch may be a thread of a program.
    static var exist: Bool { wasMade.load(ordering: .relaxed) }

    init() {
      Self.wasMade.store(true, ordering: .relaxed)
      queue.suspend()
    }

    // (One that is suspended must not be released.)
    deinit { queue.resume() }

    /// Names an operation queue that has this one as its underlying queue.
    package func serve(_ operationQueue: OperationQueue) { operationQueues.append(operationQueue) }

    /// Lets blocks run until nothing can come any more.
    func serve() {
      queue.setSpecific(key: ExploredThread.queueKey, value: thread)
      while thread.execution.idle(thread, until: { self.hasWork }) {
        // (Behind what is there now: what comes meanwhile waits for the next
        // time, or the schedule would depend on which thread is faster.)
        let isDone = DispatchSemaphore(value: 0)
        queue.async { [queue] in
          queue.suspend()
          isDone.signal()
        }
        queue.resume()
        isDone.wait()
      }
      queue.setSpecific(key: ExploredThread.queueKey, value: nil)
    }

    private var hasWork: Bool {
      operationQueues.contains { queue in
        !queue.isSuspended
          && queue.operations.contains { $0.isReady && !$0.isExecuting && !$0.isFinished }
      }
    }
  }

#endif
