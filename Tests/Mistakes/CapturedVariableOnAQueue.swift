// A closure that runs on a queue changes a variable outside.
// error: mutation of captured var 'total' in concurrently-executing code
import Properations

private func mistake(_ counts: [Future<Int>]) -> Int {
  var total = 0
  for count in counts { count.onSuccess(on: .global()) { total += $0 } }
  return total
}
