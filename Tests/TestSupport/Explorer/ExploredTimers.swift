#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import Synchronization

  /// The timers of a program.
  ///
  /// A thread of the program rings them in the order of their deadlines, at any moment.
  /// Time stands still otherwise: a timer that rings moves the time to its deadline.
  final class ExploredTimers: Sendable {
    private struct Timer {
      let id: Int
      let deadline: Duration
      let ring: @Sendable () -> Void
    }

    private struct State {
      var pending: [Timer] = []
      var now = Duration.zero
      var lastID = 0
    }

    private let state = Mutex(State())

    /// Starts a timer, and returns a closure that cancels it.
    func start(
      _ duration: Duration, _ ring: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
      SchedulingPoints.handOff()
      let id = state.withLock { state in
        state.lastID += 1
        state.pending.append(
          Timer(id: state.lastID, deadline: state.now + duration, ring: ring))
        return state.lastID
      }
      return { [weak self] in
        SchedulingPoints.handOff()
        // Released after the lock.
        let cancelled = self?.take { $0.id == id }
        withExtendedLifetime(cancelled) {}
      }
    }

    /// Rings timers until no timer can come any more.
    func serve() {
      guard let thread = ExploredThread.current else { return }
      while thread.execution.idle(thread, until: { self.state.withLock { !$0.pending.isEmpty } }) {
        guard let first = state.withLock({ $0.pending.map(\.deadline).min() }),
          let timer = take(where: { $0.deadline == first })
        else { continue }
        state.withLock { $0.now = max($0.now, timer.deadline) }
        timer.ring()
      }
    }

    private func take(where isWanted: (Timer) -> Bool) -> Timer? {
      state.withLock { state in
        state.pending.firstIndex(where: isWanted).map { state.pending.remove(at: $0) }
      }
    }
  }

#endif
