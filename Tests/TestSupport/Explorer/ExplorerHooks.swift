#if PROPERATIONS_EXPLORER

  import Futures

  /// Connects the scheduling points of the package with the explorer.
  enum ExplorerHooks {
    /// Installs the hooks; further calls change nothing.
    static func install() { _ = installed }

    private static let installed = SchedulingPoints.hooks.storeIfNil(
      SchedulingPoints.Hooks(
        lock: { lock in onThread { $0.execution.lock(lock, by: $0) } },
        unlock: { lock in onThread { $0.execution.unlock(lock, by: $0) } },
        access: { atomic in onThread { $0.execution.access(atomic, by: $0) } },
        handOff: { onThread { $0.execution.handOff(by: $0) } },
        block: { canTimeOut, condition in
          guard let thread = ExploredThread.current else { return nil }
          return thread.execution.block(thread, canTimeOut: canTimeOut, until: condition)
        },
        setExplored: { isExplored in onThread { $0.unexploredSections += isExplored ? -1 : 1 } },
        startTimer: { duration, ring in
          ExploredProgram.current?.ownTimers?.start(duration, ring)
        }))

    private static func onThread(_ body: (ExploredThread) -> Void) {
      if let thread = ExploredThread.current { body(thread) }
    }
  }

#endif
