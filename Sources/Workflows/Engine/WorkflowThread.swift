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
  }

  @exclusivity(unchecked) var frame: Frame?
  /// The worker that a context is being asked to start.
  @exclusivity(unchecked) var starting: ObjectIdentifier?

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

  /// Asks a context to start a worker, inside another worker.
  func start(_ worker: Worker, on context: ContextReference) {
    let outer = starting
    starting = ObjectIdentifier(worker)
    context.start(worker)
    starting = outer
  }

  /// Makes a call into another workflow, now or as soon as the one that this thread is
  /// making has returned: workflows in workflows in workflows need no stack.
  ///
  /// A thread that is about to wait for a future makes the calls that wait before.
  func call(_ body: @escaping () -> Void) { WorkLoop.current.callWorkflow(body) }
}
