/// An error for tests.
package enum TestError: Error, Equatable {
  case first
  case second
  case numbered(Int)
}
