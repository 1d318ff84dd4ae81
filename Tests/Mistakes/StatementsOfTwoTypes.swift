// A closure of several statements returns two types.
// error: 'nil' is not compatible with closure result type 'String'
import Properations

private func mistake(_ number: Future<Int>) {
  let text = number.mapToValue { value in
    if value > 0 { return "more" }
    return nil
  }
  text.onSuccess { print($0) }
}
