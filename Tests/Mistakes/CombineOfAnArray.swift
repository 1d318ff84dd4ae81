// `combine` is given an array.
// error: For the futures of a collection use 'collect'
import Properations

private func mistake(_ numbers: [Future<Int>]) -> Future<[Int]> {
  Promises.combine(numbers)
}
