// PromiseKit's `ensure`, which cleans up.
// error: to clean up in every case, use 'always'
import Properations

@MainActor private func stopSpinner() {}

private func mistake(_ number: Future<Int>) {
  number.ensure { stopSpinner() }
}
