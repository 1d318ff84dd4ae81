import Dispatch

// The only type of the package that blocks a thread.
//
// It is Dispatch's semaphore, except under the explorer of thread schedules, which has to
// know that a thread is blocked.

#if !PROPERATIONS_EXPLORER

  package typealias BlockingSemaphore = DispatchSemaphore

#else

  /// A semaphore that reports its waits to the explorer of thread schedules.
  package final class BlockingSemaphore: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    /// The value of `semaphore`.
    private let count: Atomic<Int>

    /// - Parameter value: The initial value; only zero is used.
    package init(value: Int) {
      precondition(value == 0)
      count = Atomic(value)
    }

    package func signal() {
      SchedulingPoints.handOff()
      _ = unexplored { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }
      semaphore.signal()
    }

    package func wait() { _ = wait(timeout: .distantFuture) }

    package func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
      let isOpen = SchedulingPoints.hooks.load()?.block(timeout < .distantFuture) {
        [count = self] in
        unexplored { count.count.load(ordering: .sequentiallyConsistent) } > 0
      }
      if isOpen == false { return .timedOut }
      let result = semaphore.wait(timeout: timeout)
      if result == .success {
        _ = unexplored { count.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
      }
      return result
    }
  }

#endif
