import Foundation
import Futures

/// What the library knows of one thread: the worker and the task that it runs.
///
/// Each thread has its own object, which only that thread uses.
final class WorkflowThread {
  /// The worker that the thread is in.
  struct Frame {
    unowned(unsafe) let core: WorkflowCore
    let pool: Int
    /// The task whose work runs, if any.
    ///
    /// The caller that runs the work keeps the task alive.
    var task: ObjectIdentifier?
    var run: UInt32 = 0
    /// How many workers are further out on the stack.
    var depth = 0
    /// Whether the worker has the thread to itself: the thread is not the main thread and
    /// is not inside the call that queued the worker.
    var hasThread = false
    /// Whether that is so for this worker or one further out on the stack.
    var isOnWorkerThread = false
  }

  @exclusivity(unchecked) var frame: Frame?
  /// The thread belongs to Swift's pool and is ending the work of an async task.
  @exclusivity(unchecked) private var isOfPool = false

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { pointer in
      // Optional on Linux, not on Darwin.
      let pointer: UnsafeMutableRawPointer? = pointer
      if let pointer { Unmanaged<WorkflowThread>.fromOpaque(pointer).release() }
    }
    return key
  }()

  /// The object of the calling thread, made on first use.
  static var current: WorkflowThread {
    if let existing { return existing }
    let made = WorkflowThread()
    pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
    return made
  }

  /// The object of the calling thread, if it has been made.
  @inline(__always)
  static var existing: WorkflowThread? {
    pthread_getspecific(key).map {
      Unmanaged<WorkflowThread>.fromOpaque($0).takeUnretainedValue()
    }
  }

  /// Ends the work of an async task, on a thread of Swift's pool.
  static func endOnPool(_ body: () -> Void) {
    let thread = current
    thread.isOfPool = true
    body()
    thread.isOfPool = false
  }

  /// Whether the calling thread runs tasks and therefore should not call the delegates of
  /// a workflow.
  ///
  /// - Parameter isInline: Whether the workflow starts its work inside the call that asks
  ///   for it. Such a call also delivers the news.
  static func isAtWork(for core: WorkflowCore, isInline: Bool) -> Bool {
    guard let thread = existing else { return false }
    if thread.isOfPool { return true }
    guard let frame = thread.frame else { return false }
    return frame.core === core ? frame.hasThread : frame.isOnWorkerThread && !isInline
  }

  /// Calls into another workflow: at once, or after the present such call of this thread
  /// has returned.
  ///
  /// Deeply nested workflows therefore need no deep stack.
  ///
  /// A thread that is about to wait for a future first makes the calls that are still
  /// outstanding.
  func call(_ body: @escaping () -> Void) { WorkLoop.current.callWorkflow(body) }
}
