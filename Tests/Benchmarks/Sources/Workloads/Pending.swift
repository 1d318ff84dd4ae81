import Foundation
import Properations

/// Many that wait, and what they cost the others.
package enum Pending {
  /// Promises that nobody has settled yet, each with a future below.
  package static func promises(_ count: Int) -> [Promise<Int>] {
    (0..<count).map { _ in Promise<Int>() }
  }

  /// Promises made and fulfilled, one after the other.
  @inline(never)
  package static func createAndFulfil(_ count: Int) {
    for value in 0..<count {
      let promise = Promise<Int>()
      expect(promise.succeed(with: value))
    }
  }

  /// Promises made, all of them, and then fulfilled in the same order.
  @inline(never)
  package static func createAllThenFulfil(_ count: Int) {
    let promises = promises(count)
    for promise in promises { expect(promise.succeed(with: 1)) }
  }
}
