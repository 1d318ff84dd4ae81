#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import Synchronization

  /// The threads of a program, their shared objects, and its checks.
  ///
  /// A program is declared anew for every schedule. Code outside of the threads' closures
  /// runs before any of the threads, and is not explored.
  package final class ExploredProgram: @unchecked Sendable {
    // Sendable: changed only by the declaration, on one thread.
    struct Check {
      let name: String
      let holds: @Sendable () throws -> Bool
    }

    private(set) var threads: [ExploredThread] = []
    /// The timers of the program, if it has timers of its own.
    private(set) var ownTimers: ExploredTimers?
    private(set) var finalChecks: [Check] = []
    private(set) var invariants: [Check] = []

    /// Adds a thread; two to four threads are worth exploring.
    package func thread(_ body: @escaping @Sendable () -> Void) { add(.actor, body) }

    /// Adds a closure that runs when all threads have ended and the contexts have no
    /// work.
    ///
    /// Use it to settle the futures that everything else waits for.
    package func afterwards(_ body: @escaping @Sendable () -> Void) { add(.finisher, body) }

    /// Adds a context, with a thread of its own that starts its operations in order.
    package func context() -> ExploredContext {
      let context = ExploredContext()
      add(.server) { context.serve() }
      return context
    }

    /// Adds a serial dispatch queue whose blocks run on a thread of the program.
    ///
    /// It is the underlying queue for an operation queue.
    package func dispatchQueue() -> ExploredDispatchQueue {
      let queue = ExploredDispatchQueue()
      queue.thread = add(.server) { queue.serve() }
      return queue
    }

    /// Makes the timers of futures ring on a thread of the program, at any moment.
    ///
    /// Otherwise the timers are Dispatch's timers, and do not belong to the program.
    package func timers() {
      let timers = ExploredTimers()
      self.ownTimers = timers
      add(.server) { timers.serve() }
    }

    /// Adds a check that has to hold when no work is left.
    ///
    /// - Parameters:
    ///   - name: The name of the check, for reports.
    ///   - check: Returns whether it holds.
    package func atEnd(_ name: String, _ check: @escaping @Sendable () throws -> Bool) {
      finalChecks.append(Check(name: name, holds: check))
    }

    /// Adds a check that has to hold at every scheduling point at which no thread holds a
    /// lock.
    package func always(_ name: String, _ check: @escaping @Sendable () throws -> Bool) {
      invariants.append(Check(name: name, holds: check))
    }

    /// The program that the calling thread declares.
    @TaskLocal static var declared: ExploredProgram?

    /// The program that the calling thread declares or is part of.
    static var current: ExploredProgram? {
      ExploredThread.current?.execution.program ?? declared
    }

    @discardableResult
    private func add(
      _ role: ExploredThread.Role, _ body: @escaping @Sendable () -> Void
    ) -> ExploredThread {
      let thread = ExploredThread(index: threads.count, role: role, body: body)
      threads.append(thread)
      return thread
    }
  }

#endif
