import Properations

extension Result {
  /// Turns the result of one task into that of another: the closure's value, its error,
  /// or the existing error.
  func tryMap<NewSuccess, Problem: Error>(
    _ transform: (Success) throws(Problem) -> NewSuccess
  ) -> Result<NewSuccess, ProducerTaskProtocolError<Problem>>
  where Failure == ProducerTaskProtocolError<Problem> {
    flatMap { value in
      do throws(Problem) {
        return .success(try transform(value))
      } catch {
        return .failure(.provided(error))
      }
    }
  }
}
