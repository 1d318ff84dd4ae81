import Foundation
import Properations

/// Many pending futures, and their cost for others.
package enum Pending {
  /// Makes pending promises, each with one downstream future.
  package static func promises(_ count: Int) -> [Promise<Int>] {
    (0..<count).map { _ in Promise<Int>() }
  }

  /// Makes and fulfills promises, one after the other.
  @inline(never)
  package static func createAndFulfil(_ count: Int) {
    for value in 0..<count {
      let promise = Promise<Int>()
      expect(promise.succeed(with: value))
    }
  }

  /// Makes all promises, and then fulfills them in the same order.
  @inline(never)
  package static func createAllThenFulfil(_ count: Int) {
    let promises = promises(count)
    for promise in promises { expect(promise.succeed(with: 1)) }
  }
}
