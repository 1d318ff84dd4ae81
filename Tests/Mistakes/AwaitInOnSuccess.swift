// A handler awaits.
// error: The handler awaits
import Properations

private func save(_ number: Int) async {}

private func mistake(_ number: Future<Int>) {
  number.onSuccess { await save($0) }
}
