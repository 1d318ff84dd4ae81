// Nothing says which value a promise is for.
// error: 'make(promising: Int.self)'
import Properations

private func mistake() {
  let promise = Promises.make()
  promise.succeed(with: 1)
}
