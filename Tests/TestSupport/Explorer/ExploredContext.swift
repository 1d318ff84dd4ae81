#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import Synchronization

  /// A context of a program: a thread of the program starts its operations in order.
  package final class ExploredContext: ExecutionContext {
    // Not the package's lock: the explorer's own locks are no scheduling points.
    private let waiting = Mutex<[Operation]>([])

    package func execute(_ operation: Operation) {
      SchedulingPoints.handOff()
      waiting.withLock { $0.append(operation) }
    }

    /// Starts operations until no operation can come any more.
    func serve() {
      guard let thread = ExploredThread.current else { return }
      while thread.execution.idle(thread, until: { self.waiting.withLock { !$0.isEmpty } }) {
        waiting.withLock { $0.removeFirst() }.start()
      }
    }
  }

#endif
