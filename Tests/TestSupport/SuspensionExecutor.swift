import Foundation

/// A task executor that tells when its task has suspended for the first time.
///
/// It is for one task. When the event opens, the task has begun its first `await`.
package final class SuspensionExecutor: TaskExecutor {
  /// Opens when the first part of the task has run.
  package let suspended = Event()

  private let queue = DispatchQueue(label: "suspension")

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(on: self.asUnownedTaskExecutor())
      self.suspended.signal()
    }
  }
}
