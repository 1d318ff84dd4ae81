// Nothing says which value a failed future would have had.
// error: 'makeFailed(with: error, promising: Int.self)'
import Properations

private func mistake() {
  let failed = Promises.makeFailed(with: CancellationError())
  failed.onFailure { print($0) }
}
