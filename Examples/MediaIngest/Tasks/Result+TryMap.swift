import Properations

extension Result {
  /// The result of a task made from that of another: what the closure returns
  /// or throws, or the error that is there already.
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
