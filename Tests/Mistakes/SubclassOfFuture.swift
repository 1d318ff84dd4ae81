// A subclass of `Future`.
// error: A future cannot be made by hand
import Properations

private final class Download: Future<Int>, @unchecked Sendable {
  init(path: String) { super.init() }
}
