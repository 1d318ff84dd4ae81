// PromiseKit's `catch`.
// error: Use 'onFailure' to look at the error, and 'recover'
import Properations

private func mistake(_ number: Future<Int>) {
  number.catch { error in print(error) }
}
