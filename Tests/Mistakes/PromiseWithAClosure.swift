// PromiseKit's way to make a promise.
// error: Use 'Promises.withResolver(promising:)'
import Properations

private func mistake() -> Future<Int> {
  Promise<Int> { seal in seal.succeed(with: 1) }
}
