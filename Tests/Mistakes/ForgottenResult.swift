// What a combinator returns is thrown away.
// warning: result of call to 'timeout(after:clock:fileID:line:)' is unused
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.timeout(after: .seconds(5))
  return number
}
