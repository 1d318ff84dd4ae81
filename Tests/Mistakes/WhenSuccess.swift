// SwiftNIO's `whenSuccess`.
// error: 'whenSuccess' has been renamed to 'onSuccess'
import Properations

private func mistake(_ number: Future<Int>) {
  number.whenSuccess { print($0) }
}
