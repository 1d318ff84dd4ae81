// A closure asks for a property that is not there.
// error: value of type 'String' has no member 'cuont'
import Properations

private func mistake(_ text: Future<String>) -> Future<Int> {
  text.mapToValue { $0.cuont }
}
