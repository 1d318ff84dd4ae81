import Futures
import TestSupport
import TypedTasks

// The old forms of `retry`, which are deprecated and keep their meaning: the tests that were
// written with them call them through a protocol, which says nothing of that.

private protocol Retrying {
  func retry<Output: Sendable, Failure: Error, T: ProducerTaskProtocol>(
    _ task: ProducerTask<Output, Failure>, _ count: Int, delay: Duration,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool,
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure

  func retry<Output: Sendable, Failure: Error, T: ProducerTaskProtocol>(
    _ task: ProducerTask<Output, Failure>, _ count: Int,
    delays: @escaping @Sendable (Int) -> Duration,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool,
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure
}

private struct OldRetries: Retrying {
  @available(*, deprecated)
  func retry<Output: Sendable, Failure: Error, T: ProducerTaskProtocol>(
    _ task: ProducerTask<Output, Failure>, _ count: Int, delay: Duration,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool,
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    task.retry(count, delay: delay, if: isWorthwhile, makeTask)
  }

  @available(*, deprecated)
  func retry<Output: Sendable, Failure: Error, T: ProducerTaskProtocol>(
    _ task: ProducerTask<Output, Failure>, _ count: Int,
    delays: @escaping @Sendable (Int) -> Duration,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool,
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    task.retry(count, delays: delays, if: isWorthwhile, makeTask)
  }
}

// (For one type of failure: what is generic above finds the forms of the library.)
extension ProducerTask where Failure == TestError {
  func retry<T: ProducerTaskProtocol>(
    _ count: Int, delay: Duration = .zero,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool = { _ in true },
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    (OldRetries() as any Retrying).retry(self, count, delay: delay, if: isWorthwhile, makeTask)
  }

  func retry<T: ProducerTaskProtocol>(
    _ count: Int, delays: @escaping @Sendable (Int) -> Duration,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool = { _ in true },
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    (OldRetries() as any Retrying).retry(self, count, delays: delays, if: isWorthwhile, makeTask)
  }
}
