import Foundation
import Futures

/// A future that settles a little later, on a thread of its own, without the main
/// queue.
func later() -> Future<Int> {
  let promise = Promise<Int>()
  Thread {
    usleep(50_000)
    promise.succeed(with: 1)
  }.start()
  return promise
}
