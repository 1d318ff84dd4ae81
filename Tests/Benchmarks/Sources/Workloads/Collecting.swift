import Foundation
import Properations

/// Waiting for all of many promises.
package enum Collecting {
  /// Collects promises, and settles them.
  @inline(never)
  package static func settledAfter(_ promises: [Promise<Int>]) {
    let all = Promises.collect(promises)
    for promise in promises { promise.succeed(with: 1) }
    expect(all.result?.successValue?.count == promises.count)
  }

  /// Collects all promises in groups of one size, and settles them one after the other.
  ///
  /// The same for every size: the number of promises, the memory of the promises and
  /// their waiters, and the order of access.
  @inline(never)
  package static func inGroups(of size: Int, _ promises: [Promise<Int>]) {
    let groups = stride(from: 0, to: promises.count, by: size).map { start in
      Promises.collect(promises[start..<start + size])
    }
    for promise in promises { promise.succeed(with: 1) }
    for group in groups { expect(group.result?.successValue?.count == size) }
  }
}
