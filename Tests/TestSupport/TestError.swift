/// An error to fail with.
package enum TestError: Error, Equatable {
  case first
  case second
  case numbered(Int)
}
