import Foundation
import Properations

/// Waiting for all of many.
package enum Collecting {
  /// Promises collected, then settled.
  @inline(never)
  package static func settledAfter(_ promises: [Promise<Int>]) {
    let all = promises.collectFutures()
    for promise in promises { promise.succeed(with: 1) }
    expect(all.result?.successValue?.count == promises.count)
  }
}
