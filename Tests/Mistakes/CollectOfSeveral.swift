// `collect` is given futures one by one.
// error: For futures one by one use 'combine'
import Properations

private func mistake(_ name: Future<String>, _ number: Future<Int>) {
  Promises.collect(name, number).onSuccess { name, number in print(name, number) }
}
