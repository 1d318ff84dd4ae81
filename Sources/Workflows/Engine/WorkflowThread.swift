import Foundation
import Futures

/// What the library knows of one thread: which task's work it is in, and what
/// it still has to do for nested workflows.
///
/// One object per thread, only ever used by that thread.
final class WorkflowThread {
  /// The work that the thread is in.
  struct Frame {
    unowned(unsafe) let core: WorkflowCore
    let pool: Int
    /// The task whose work runs, if any; it is kept by whoever runs it.
    var task: ObjectIdentifier?
    var run: UInt32 = 0
    /// How many workers are further out on the stack.
    var depth = 0
    /// It is the worker's own thread: neither the main queue's nor one that was in the
    /// call that put the worker in line.
    var hasThread = false
    /// The same of this worker or of one further out on the stack.
    var isOnWorkerThread = false
  }

  @exclusivity(unchecked) var frame: Frame?
  /// The thread is one of Swift's pool, in which an async task ends.
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

  /// The object of the calling thread.
  static var current: WorkflowThread {
    if let existing { return existing }
    let made = WorkflowThread()
    pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
    return made
  }

  /// The object of the calling thread, if it was ever needed.
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

  /// Whether the calling thread is there to do work, so that it should not call the
  /// delegates of a workflow.
  ///
  /// - Parameter isInline: Whether the workflow starts its work in the call that asks for
  ///   it. Such a call tells the news, too.
  static func isAtWork(for core: WorkflowCore, isInline: Bool) -> Bool {
    guard let thread = existing else { return false }
    if thread.isOfPool { return true }
    guard let frame = thread.frame else { return false }
    return frame.core === core ? frame.hasThread : frame.isOnWorkerThread && !isInline
  }

  /// Makes a call into another workflow, now or as soon as the one that this thread is
  /// making has returned: workflows in workflows in workflows need no stack.
  ///
  /// A thread that is about to wait for a future makes the calls that wait before.
  func call(_ body: @escaping () -> Void) { WorkLoop.current.callWorkflow(body) }
}
