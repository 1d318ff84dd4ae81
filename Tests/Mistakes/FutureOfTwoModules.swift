// Combine has a `Future`, too.
// error: generic type 'Future' specialized with too few type parameters
import Combine
import Properations

private func mistake() -> Future<Int> {
  Promises.makeSucceeded(with: 1)
}
