import Foundation
import Futures
import Synchronization

/// A latch that opens once; every wait for it ends.
package final class Event: Sendable {
  private struct State {
    var isOpen = false
    var nextID = 0
    var continuations: [Int: CheckedContinuation<Bool, Never>] = [:]
  }

  /// The default limit of a wait.
  ///
  /// Only a test that fails waits that long. Machines that share their processors with
  /// others have taken three times as long as idle machines.
  #if PROPERATIONS_THREAD_SANITIZER || PROPERATIONS_INVARIANTS
    // Builds that check everything are ten times slower.
    package static let patience = Duration.seconds(120)
  #else
    package static let patience = Duration.seconds(60)
  #endif

  /// The default limit of all the work of a test: many rounds of a race, a long chain.
  ///
  /// What takes ten seconds alone has taken two minutes beside the tests of other lanes. The
  /// limit of a whole test is five minutes.
  package static let patienceForWork = Duration.seconds(240)

  private let state = TestLock(State())
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  /// Whether the latch is open.
  package var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens the latch.
  package func signal() {
    let continuations = state.withLock { state in
      state.isOpen = true
      defer { state.continuations = [:] }
      return Array(state.continuations.values)
    }
    semaphore.signal()
    for continuation in continuations { continuation.resume(returning: true) }
  }

  /// Blocks the thread until the latch is open; `false` if it does not open in time.
  @available(*, noasync, message: "Use 'opened(within:)'.")
  @discardableResult
  package func wait(_ patience: Duration = Event.patience) -> Bool {
    let result = semaphore.wait(timeout: .now() + patience.seconds)
    if result == .success { semaphore.signal() }
    return result == .success
  }

  /// Suspends the task until the latch is open; `false` if it does not open in time.
  @discardableResult
  package func opened(within patience: Duration = Event.patience) async -> Bool {
    await withCheckedContinuation { continuation in
      let id: Int? = state.withLock { state in
        guard !state.isOpen else { return nil }
        state.nextID += 1
        state.continuations[state.nextID] = continuation
        return state.nextID
      }
      guard let id else { return continuation.resume(returning: true) }
      DispatchQueue.global().asyncAfter(deadline: .now() + patience.seconds) { [weak self] in
        self?.state.withLock { $0.continuations.removeValue(forKey: id) }?.resume(returning: false)
      }
    }
  }
}

/// Repeats a check until it succeeds; `false` if it does not succeed in time.
///
/// Use it for changes that no event announces: an object is released, a queue is empty.
package func eventually(
  within patience: Duration = Event.patience, isolation: isolated (any Actor)? = #isolation,
  _ condition: () -> Bool
) async -> Bool {
  let end = ContinuousClock.now + patience
  while !condition() {
    if ContinuousClock.now > end { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}

/// The same for threads that may block.
@available(*, noasync, message: "Use 'eventually'.")
package func eventuallyBlocking(
  within patience: Duration = Event.patience, _ condition: () -> Bool
) -> Bool {
  let end = ContinuousClock.now + patience
  while !condition() {
    if ContinuousClock.now > end { return false }
    usleep(500)
  }
  return true
}

extension Duration {
  /// The duration in seconds, for Dispatch.
  var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
