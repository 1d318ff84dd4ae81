import Foundation
import Properations
import Synchronization

/// Work that takes a given time and fails in given attempts.
final class PacedTask: WorkflowTask<Void>, @unchecked Sendable {
  // Sendable: a mutex guards everything that changes.

  /// The error of a planned failure.
  struct Unlucky: Error, CustomStringConvertible {
    let attempt: Int
    var description: String { "attempt \(attempt) was unlucky" }
  }

  private let duration: Duration
  private let failures: Int
  private let attempts = Mutex((began: ContinuousClock.Instant?.none, runs: 0))

  /// - Parameters:
  ///   - duration: How long an attempt takes.
  ///   - failures: How many attempts fail before one succeeds.
  init(name: String, takes duration: Duration, failures: Int) {
    (self.duration, self.failures) = (duration, failures)
    super.init(name: name)
  }

  override func main(_ run: TaskWork<Void>) {
    let number = attempts.withLock { attempts in
      attempts = (.now, attempts.runs + 1)
      return attempts.runs
    }
    let wait = Promises.delay(for: duration)
    run.onStop { wait.cancel() }
    // Inline: the timer's thread only ends the run.
    wait.onSuccess(on: .inline) { [failures] in
      run.end(with: number > failures ? .success(()) : .failure(Unlucky(attempt: number)))
    }
  }

  /// The completed fraction of the present attempt.
  var progress: Double {
    guard let began = attempts.withLock({ $0.began }) else { return 0 }
    return min((ContinuousClock.now - began) / duration, 1)
  }
}
