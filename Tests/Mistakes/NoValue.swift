// A promise of a value succeeds without one.
// error: use 'succeed(with:)'
import Properations

private func mistake() {
  let promise = Promises.make(promising: Int.self)
  promise.succeed()
}
