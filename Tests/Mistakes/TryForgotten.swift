// The value is awaited without `try`.
// error: property access can throw, but it is not marked with 'try'
import Properations

private func mistake(_ number: Future<Int>) async -> Int {
  await number.value
}
