// The work calls a function that is not there.
// error: cannot find 'laod' in scope
import Properations

private func mistake() -> Future<Int> {
  Promises.run(on: .global()) { try laod() }
}
