// `Process` exists where programs can be started: not on the phone-like
// platforms.
#if os(macOS) || os(Linux) || os(Windows) || os(FreeBSD) || os(OpenBSD)
  import Foundation
  import Futures

  extension Process {
    /// Starts the process, and makes a future of its exit status.
    ///
    /// The future succeeds with the status when the process has ended, whatever
    /// the status is; `ensure` turns a status into a failure:
    ///
    /// ```swift
    /// process.runAsFuture(on: queue).ensure { $0 == 0 }
    /// ```
    ///
    /// An error on launch fails the future. Cancelling the future terminates
    /// the process, or keeps it from being launched. A termination handler that
    /// was set before is called too; set none afterwards.
    ///
    /// - Parameters:
    ///   - queue: A queue in which the process holds a slot from launch to
    ///     end, so that a queue with `maxConcurrentOperationCount = 1` runs one
    ///     at a time. Without a queue it is launched at once.
    ///   - fileID: The file to name in errors; leave it out.
    ///   - line: The line to name in errors; leave it out.
    public func runAsFuture(
      on queue: OperationQueue? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Future<Int32> {
      guard let queue else {
        let promise = Promise<Int32>(fileID: fileID, line: line)
        launch(fulfilling: promise)
        return promise
      }
      return Promises.makeBlocking(
        on: queue, promising: Int32.self, executionContext: .inline, fileID: fileID, line: line
      ) { [self] promise in
        launch(fulfilling: promise)
      }
    }

    private func launch(fulfilling promise: Promise<Int32>) {
      let previous = terminationHandler
      terminationHandler = { process in
        previous?(process)
        promise.succeed(with: process.terminationStatus)
        // The process keeps its handler, and that the promise.
        process.terminationHandler = nil
      }
      do { try run() } catch {
        terminationHandler = previous
        promise.fail(with: error)
        return
      }
      // Asked only now: there is nothing to terminate before the launch.
      promise.onCancellationRequest { [self] in
        if isRunning { terminate() }
      }
    }
  }
#endif
