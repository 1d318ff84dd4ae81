import NIOCore
import OpenCombine
import Properations
import Workloads

/// One promise with n observers.
///
/// The same: each observer is a closure that is called once, inline. Not the same: ours
/// makes a future for each observer, which can be cancelled and waited for; NIO's
/// `whenSuccess` makes none.
func fanOut() {
  for count in [1, 100, 10_000, 1_000_000] {
    let name = "Fan-out to \(text(count))"
    measure(name, .ours) {
      let calls = Calls()
      let promise = Promise<Int>()
      for _ in 0..<count { promise.onSuccess(on: .inline) { _ in calls.count += 1 } }
      promise.succeed(with: 1)
      expect(calls.count == count)
    }
    measure(name, .nio) {
      try Loops.run {
        let calls = Calls()
        let promise = Loops.first.makePromise(of: Int.self)
        for _ in 0..<count { promise.futureResult.whenSuccess { _ in calls.count += 1 } }
        promise.succeed(1)
        expect(calls.count == count)
      }
    }
    guard count <= 10_000 else { continue }
    measure(name, .openCombine) {
      let calls = Calls()
      var settle: ((Result<Int, Never>) -> Void)?
      let future = OpenCombine.Future<Int, Never> { settle = $0 }
      let subscriptions = (0..<count).map { _ in future.sink { _ in calls.count += 1 } }
      settle?(.success(1))
      expect(calls.count == count)
      for subscription in subscriptions { subscription.cancel() }
    }
  }
}

/// Counts calls on one thread.
private final class Calls: @unchecked Sendable {
  // Sendable: only the thread that settles uses it.
  var count = 0
}
