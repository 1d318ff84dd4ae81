// A promise succeeds with a result.
// error: 'succeed(with:)' has been renamed to 'fulfill(with:)'
import Properations

private func mistake(_ result: Result<Int, any Error>) {
  let promise = Promises.make(promising: Int.self)
  promise.succeed(with: result)
}
