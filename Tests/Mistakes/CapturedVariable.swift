// The closure of a call without `on:` changes a variable outside.
// error: sending 'total' risks causing data races
import Properations

private func mistake(_ counts: [Future<Int>]) -> Int {
  var total = 0
  for count in counts { count.onSuccess { total += $0 } }
  return total
}
