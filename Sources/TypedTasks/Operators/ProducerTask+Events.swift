import Foundation
import Futures

extension ProducerTask {
  /// Calls closures with the result of this task, and passes the result on.
  ///
  /// - Parameters:
  ///   - receiveOutput: Gets the value.
  ///   - receiveFailure: Gets the error of a task that failed.
  ///   - receiveCancel: Called for a task that was cancelled, unless the operator, or one that
  ///     follows it, was cancelled itself: the operator has then finished before.
  public final func handleEvents(
    receiveOutput: (@Sendable (Output) -> Void)? = nil,
    receiveFailure: (@Sendable (ProducerTaskProtocolError<Failure>) -> Void)? = nil,
    receiveCancel: (@Sendable () -> Void)? = nil
  ) -> ProducerTask<Output, Failure> {
    stage("handleEvents", .always) { task, source in
      let produced = source.settledProduced
      switch produced {
      case .success(let value): receiveOutput?(value)
      case .failure(let error): error.saysCancelled ? receiveCancel?() : receiveFailure?(error)
      }
      task.settle(produced, from: .closure)
    }
  }

  /// Writes the result of this task to standard output, and passes the result on.
  ///
  /// It is not called `print`, because in your subclasses that name would hide Swift's
  /// `print`.
  ///
  /// - Parameters:
  ///   - prefix: The beginning of each line.
  ///   - write: Writes a line, in place of `print`.
  public final func printEvents(
    _ prefix: String = "", write: (@Sendable (String) -> Void)? = nil
  ) -> ProducerTask<Output, Failure> {
    let begin = prefix.isEmpty ? "" : "\(prefix): "
    return stage("printEvents", .always) { task, source in
      let produced = source.settledProduced
      let line =
        switch produced {
        case .success(let value): "\(begin)received value: (\(value))"
        case .failure(let error) where error.saysCancelled: "\(begin)received cancel"
        case .failure(let error): "\(begin)received error: (\(error))"
        }
      if let write { write(line) } else { print(line) }
      task.settle(produced, from: .closure)
    }
  }

  /// Stops in the debugger if a value meets a test; only in debug builds of the library.
  ///
  /// - Parameter receiveOutput: The test.
  public final func breakpointOnOutput(
    receiveOutput: @escaping @Sendable (Output) -> Bool
  ) -> ProducerTask<Output, Failure> {
    stage("breakpointOnOutput", .success) { task, source in
      let value = source.settledValue
      if receiveOutput(value) { stopInDebugger() }
      task.succeed(with: value)
    }
  }

  /// Stops in the debugger if a provided error meets a test; only in debug builds of the
  /// library.
  ///
  /// - Parameter receiveFailure: The test.
  public final func breakpointOnFailure(
    receiveFailure: @escaping @Sendable (Failure) -> Bool
  ) -> ProducerTask<Output, Failure> {
    stage("breakpointOnFailure", .failure) { task, source in
      if case .failure(.provided(let error)) = source.settledProduced, receiveFailure(error) {
        stopInDebugger()
      }
      task.settle(source.settledProduced, from: .closure)
    }
  }

  /// Stops in the debugger if this task fails or is cancelled; only in debug builds of
  /// the library.
  public final func breakpointOnError() -> ProducerTask<Output, Failure> {
    stage("breakpointOnError", [.failure, .cancellation]) { task, source in
      stopInDebugger()
      task.settle(source.settledProduced, from: .closure)
    }
  }
}

private func stopInDebugger() {
  #if DEBUG
    raise(SIGTRAP)
  #endif
}
