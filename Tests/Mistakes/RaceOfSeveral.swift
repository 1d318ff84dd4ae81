// `race` is given futures one by one.
// error: 'race([a, b])'
import Properations

private func mistake(_ mirror: Future<Int>, _ origin: Future<Int>) -> Future<Int> {
  Promises.race(mirror, origin)
}
