import Foundation
import TypedTasks

/// A task queue whose work happens when a test lets it, on one thread and in an
/// order that does not depend on time.
///
/// Between two calls of ``run()`` no task begins in it. (Conditions of the user's are
/// asked on threads of their own, whenever their time has come.)
final class SteppedQueue {
  let queue: TaskQueue
  /// The thread of the queue, for queues inside of it.
  let thread = DispatchQueue(label: "stepped")
  /// The queues inside of it.
  var inner: [TaskQueue] = []

  init() {
    thread.suspend()
    queue = TaskQueue(underlyingQueue: thread)
    queue.maxConcurrentTaskCount = 1000
  }

  // (One that is suspended must not be released.)
  deinit { thread.resume() }

  /// Lets everything run that can, that included which comes meanwhile.
  func run() {
    thread.resume()
    // (On the thread: what executes then has returned and goes on elsewhere.)
    while thread.sync(execute: { hasWork }) {}
    thread.sync { thread.suspend() }
  }

  private var hasWork: Bool {
    ([queue] + inner).contains { queue in
      !queue.isSuspended
        && queue.operations.contains { $0.isReady && !$0.isExecuting && !$0.isFinished }
    }
  }

  /// Whether nothing is left of what has been in it.
  var isEmpty: Bool { queue.taskCount == 0 && queue.operations.allSatisfy { $0.isFinished } }
}
