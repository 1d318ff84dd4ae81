// PromiseKit's `finally`.
// error: 'finally' has been renamed to 'always'
import Properations

@MainActor private func stopSpinner() {}

private func mistake(_ number: Future<Int>) {
  number.finally { stopSpinner() }
}
