import Foundation
import Futures

/// A context that starts each operation on a thread of its own.
///
/// It is an object, so the futures that name it share a batch. A closure that hangs on it
/// takes no thread from Dispatch's pools.
package final class ThreadContext: ExecutionContext {
  package init() {}

  package func execute(_ operation: Operation) { Thread { operation.start() }.start() }
}
