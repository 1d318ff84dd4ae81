// A future is made by hand.
// error: use 'Promises.make(promising:)'
import Properations

private func mistake() -> Future<Int> {
  Future<Int>()
}
