#if PROPERATIONS_EXPLORER

  import Foundation
  import Synchronization

  /// A serial dispatch queue whose blocks run when a thread of a program has the turn.
  ///
  /// The blocks run on a thread of Dispatch, which then counts as the program's thread.
  ///
  /// It is the underlying queue of operation queues. Each of them has to be named with
  /// `serve(_:hasBarriers:)`: nothing else tells when there is work.
  package final class ExploredDispatchQueue: @unchecked Sendable {
    // Sendable: only the declaration of a program changes the rest.
    package let queue = DispatchQueue(label: "explored")
    private var operationQueues: [OperationQueue] = []
    /// Whether a round is worth a try while there is any operation.
    private var mayHideWork = false
    /// Whether the last round has changed anything.
    private var hasProgressed = false
    unowned(unsafe) var thread: ExploredThread!
    /// The number of passed turns at the last round that found no block to run.
    private var fruitlessRound: Int?

    private static let wasMade = Synchronization.Atomic<Bool>(false)
    /// Whether any thread of Dispatch may be a thread of a program.
    static var exist: Bool { wasMade.load(ordering: .relaxed) }

    init() {
      Self.wasMade.store(true, ordering: .relaxed)
      queue.suspend()
    }

    // A suspended queue must not be released.
    deinit { queue.resume() }

    /// Adds an operation queue that has this queue as its underlying queue.
    ///
    /// - Parameter hasBarriers: Whether Foundation's barriers are added to it. They are
    ///   not among its operations, so nothing tells when they are ready.
    package func serve(_ operationQueue: OperationQueue, hasBarriers: Bool = false) {
      operationQueues.append(operationQueue)
      if hasBarriers { mayHideWork = true }
    }

    /// Lets blocks run until nothing can come any more.
    func serve() {
      queue.setSpecific(key: ExploredThread.queueKey, value: thread)
      while thread.execution.idle(thread, until: { self.hasWork }) {
        let ready = readyOperations
        // Behind the present blocks: blocks that come meanwhile wait for the next round.
        // Otherwise the schedule would depend on which thread is faster.
        let isDone = DispatchSemaphore(value: 0)
        queue.async { [queue] in
          queue.suspend()
          isDone.signal()
        }
        queue.resume()
        isDone.wait()
        // The old operations are kept: otherwise a new operation at the same address
        // would count as an old one.
        let isFruitless = readyOperations.elementsEqual(ready, by: ===)
        hasProgressed = mayHideWork && !isFruitless
        fruitlessRound = isFruitless ? thread.execution.passes : nil
      }
      queue.setSpecific(key: ExploredThread.queueKey, value: nil)
    }

    /// Whether another round can change anything.
    ///
    /// An operation that is ready may not be startable yet: the thread that made it ready
    /// has not posted that yet.
    private var hasWork: Bool {
      if hasProgressed { return true }
      if fruitlessRound == thread.execution.passes { return false }
      return mayHideWork
        ? operationQueues.contains { $0.operationCount > 0 } : !readyOperations.isEmpty
    }

    private var readyOperations: [Operation] {
      operationQueues.flatMap { queue in
        queue.isSuspended
          ? [] : queue.operations.filter { $0.isReady && !$0.isExecuting && !$0.isFinished }
      }
    }
  }

#endif
