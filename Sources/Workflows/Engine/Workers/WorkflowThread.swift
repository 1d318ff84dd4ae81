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
  /// The thread belongs to Swift's pool, and must not call any delegate in the present call.
  @exclusivity(unchecked) private var leavesDelegates = false
  /// The writers of journals that write on the thread, innermost last.
  @exclusivity(unchecked) var writers: [ObjectIdentifier] = []
  /// How many calls that stop work are on the stack.
  @exclusivity(unchecked) private var stopDepth = 0

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

  /// Whether the calling thread runs a Swift task, and is not the main thread, which belongs
  /// to no pool.
  static var isOfPool: Bool {
    withUnsafeCurrentTask { $0 != nil } && !Thread.isMainThread
  }

  /// Makes a call, during which a thread of Swift's pool leaves the delegates of inline
  /// workflows to another thread, too.
  ///
  /// For calls that no user makes on this thread: work that went on elsewhere has ended, a
  /// time is over, or the user waits without the thread. A thread inside a worker is the
  /// worker's.
  @inline(__always)
  static func leavingDelegates<Value>(_ body: () throws -> Value) rethrows -> Value {
    guard existing?.frame == nil, isOfPool else { return try body() }
    return try onPool(body)
  }

  private static func onPool<Value>(_ body: () throws -> Value) rethrows -> Value {
    let thread = current
    let before = thread.leavesDelegates
    thread.leavesDelegates = true
    defer { thread.leavesDelegates = before }
    return try body()
  }

  /// Whether the calling thread runs tasks, of a workflow or of Swift, and therefore should
  /// not call the delegates of a workflow.
  ///
  /// - Parameters:
  ///   - core: The workflow.
  ///   - isInline: Whether the workflow starts its work inside the call that asks for it.
  ///     Such a call also delivers the news.
  ///   - isEmpty: Whether the workflow has no tasks. It finishes inside the call that starts
  ///     it, and that call also delivers the news.
  static func isAtWork(for core: WorkflowCore, isInline: Bool, isEmpty: Bool) -> Bool {
    let thread = existing
    if thread?.leavesDelegates == true { return true }
    let frame = thread?.frame
    if let frame, frame.core === core { return frame.hasThread }
    return !isInline && (frame?.isOnWorkerThread == true || !isEmpty && isOfPool)
  }

  /// Calls into another workflow: at once, or after the present such call of this thread
  /// has returned.
  ///
  /// Deeply nested workflows therefore need no deep stack.
  ///
  /// A thread that is about to wait for a future first makes the calls that are still
  /// outstanding.
  func call(_ body: @escaping () -> Void) { WorkLoop.current.call(.workflow, body) }

  /// Makes a call that stops work.
  ///
  /// Such a call may end other work, and so lead to the next one. To bound the stack, a
  /// thread inside many of them makes further ones one after the other.
  func stopWork(_ body: @escaping () -> Void) {
    if stopDepth >= Worker.deepest { return call(body) }
    stopDepth += 1
    body()
    stopDepth -= 1
  }
}
