#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import Synchronization

  /// A context of a program: a thread of the program starts what it is given,
  /// in order.
  package final class ExploredContext: ExecutionContext {
    // (Not the package's lock: what the explorer needs for itself is no
    // scheduling point.)
    private let waiting = Mutex<[Operation]>([])

    package func execute(_ operation: Operation) {
      SchedulingPoints.handOff()
      waiting.withLock { $0.append(operation) }
    }

    /// Starts what comes until nothing can come any more.
    func serve() {
      guard let thread = ExploredThread.current else { return }
      while thread.execution.idle(thread, until: { self.waiting.withLock { !$0.isEmpty } }) {
        waiting.withLock { $0.removeFirst() }.start()
      }
    }
  }

#endif
