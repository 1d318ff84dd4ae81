#if PROPERATIONS_EXPLORER

  import Futures

  /// Connects the scheduling points of the package with the explorer.
  enum ExplorerHooks {
    /// Installs the hooks; further calls change nothing.
    static func install() { _ = installed }

    private static let installed = SchedulingPoints.hooks.storeIfNil(
      SchedulingPoints.Hooks(
        lock: { lock in
          guard let thread = ExploredThread.current else { return }
          thread.execution.lock(lock, by: thread)
        },
        unlock: { lock in
          guard let thread = ExploredThread.current else { return }
          thread.execution.unlock(lock, by: thread)
        },
        access: { atomic in
          guard let thread = ExploredThread.current else { return }
          thread.execution.access(atomic, by: thread)
        },
        handOff: {
          guard let thread = ExploredThread.current else { return }
          thread.execution.handOff(by: thread)
        },
        block: { canTimeOut, condition in
          guard let thread = ExploredThread.current else { return nil }
          return thread.execution.block(thread, canTimeOut: canTimeOut, until: condition)
        },
        setExplored: { isExplored in
          guard let thread = ExploredThread.current else { return }
          thread.unexploredSections += isExplored ? -1 : 1
        },
        startTimer: { duration, ring in
          ExploredProgram.current?.ownTimers?.start(duration, ring)
        }))
  }

#endif
