import Foundation
import Properations

/// Waiting for all of many.
package enum Collecting {
  /// Promises collected, then settled.
  @inline(never)
  package static func settledAfter(_ promises: [Promise<Int>]) {
    let all = Promises.collect(promises)
    for promise in promises { promise.succeed(with: 1) }
    expect(all.result?.successValue?.count == promises.count)
  }

  /// All promises collected in groups of a size, and then settled one after
  /// the other.
  ///
  /// The same for every size: the number of promises, the memory that they
  /// and all that waits for them take, and the order in which it is visited.
  @inline(never)
  package static func inGroups(of size: Int, _ promises: [Promise<Int>]) {
    let groups = stride(from: 0, to: promises.count, by: size).map { start in
      Promises.collect(promises[start..<start + size])
    }
    for promise in promises { promise.succeed(with: 1) }
    for group in groups { expect(group.result?.successValue?.count == size) }
  }
}
