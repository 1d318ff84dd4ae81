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
    /// Whether a round is worth a try while there is any operation.
    private var mayHideWork = false
    /// Whether the last round has changed anything.
    private var hasProgressed = false
    unowned(unsafe) var thread: ExploredThread!
    /// When blocks were last run and none was there, as a number of turns.
    private var fruitlessRound: Int?

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
    ///
    /// - Parameter hasBarriers: Whether barriers of Foundation come into it: they
    ///   are not among its operations, so nothing says when they are ready.
    package func serve(_ operationQueue: OperationQueue, hasBarriers: Bool = false) {
      operationQueues.append(operationQueue)
      if hasBarriers { mayHideWork = true }
    }

    /// Lets blocks run until nothing can come any more.
    func serve() {
      queue.setSpecific(key: ExploredThread.queueKey, value: thread)
      while thread.execution.idle(thread, until: { self.hasWork }) {
        let ready = readyOperations
        // (Behind what is there now: what comes meanwhile waits for the next
        // time, or the schedule would depend on which thread is faster.)
        let isDone = DispatchSemaphore(value: 0)
        queue.async { [queue] in
          queue.suspend()
          isDone.signal()
        }
        queue.resume()
        isDone.wait()
        // (They are kept: a new one at the place of an old one would be taken for it.)
        let isFruitless = readyOperations.elementsEqual(ready, by: ===)
        hasProgressed = mayHideWork && !isFruitless
        fruitlessRound = isFruitless ? thread.execution.passes : nil
      }
      queue.setSpecific(key: ExploredThread.queueKey, value: nil)
    }

    /// Whether another round can change anything.
    ///
    /// An operation that is ready may still not be started: the thread that has
    /// made it ready has yet to say so.
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
