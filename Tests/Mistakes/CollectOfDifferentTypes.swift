// `collect` is given an array of futures of different types.
// error: For futures of different types use 'combine(a, b)'
import Properations

private func mistake(_ name: Future<String>, _ number: Future<Int>) {
  Promises.collect([name, number]).onSuccess { print($0) }
}
