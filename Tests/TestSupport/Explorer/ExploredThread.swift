#if PROPERATIONS_EXPLORER

  import Foundation

  /// One thread of a program, as its schedule sees it.
  ///
  ///   ready ◀── the lock is free ─── locked out(of a lock)
  ///     ▲  └── the condition holds ─ blocked(until a condition)
  ///     └─▶ over
  final class ExploredThread: @unchecked Sendable {
    // Sendable: everything mutable is only touched by the thread that has the
    // turn; a semaphore is passed with it.
    enum Role {
      /// A thread of the program.
      case actor
      /// Starts what a context is given; ends when nothing can come any more.
      case server
      /// Begins when all actors are over and all servers have nothing to do.
      case finisher
    }

    enum State {
      case ready
      case lockedOut(lock: Int)
      case blocked(canTimeOut: Bool, until: () -> Bool)
      case over
    }

    let index: Int
    let role: Role
    let body: @Sendable () -> Void
    /// Signalled when the thread gets the turn.
    let turn = DispatchSemaphore(value: 0)
    var state = State.ready
    /// How many sections without scheduling points the thread is in.
    var unexploredSections = 0
    var locksHeld = 0
    /// Whether the thread has accessed an atomic since it took its lock.
    var hasAccessedUnderLock = false
    /// The number of the decision at the thread's last scheduling point, if there
    /// was one to make.
    var lastDecision: Int?
    /// Whether a server has nothing to do.
    var isIdle = false
    /// Whether the wait for which it was blocked has timed out.
    var hasTimedOut = false
    unowned(unsafe) var execution: Execution!

    init(index: Int, role: Role, body: @escaping @Sendable () -> Void) {
      self.index = index
      self.role = role
      self.body = body
    }

    var isOver: Bool {
      if case .over = state { return true }
      return false
    }

    var canTimeOut: Bool {
      if case .blocked(let canTimeOut, _) = state { return canTimeOut }
      return false
    }

    /// Runs the body in turns; called on a thread of its own.
    func run() {
      turn.wait()
      Self.setCurrent(self)
      body()
      Self.setCurrent(nil)
      execution.end(self)
    }

    // MARK: The calling thread's

    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      pthread_key_create(&key, nil)
      return key
    }()

    /// For the threads of Dispatch that run blocks of a program's queue.
    static let queueKey = DispatchSpecificKey<ExploredThread>()

    /// The thread of a program that calls; `nil` for all others.
    static var current: ExploredThread? {
      if let pointer = pthread_getspecific(key) {
        return Unmanaged<ExploredThread>.fromOpaque(pointer).takeUnretainedValue()
      }
      return ExploredDispatchQueue.exist ? DispatchQueue.getSpecific(key: queueKey) : nil
    }

    static func setCurrent(_ thread: ExploredThread?) {
      pthread_setspecific(key, thread.map { Unmanaged.passUnretained($0).toOpaque() })
    }
  }

#endif
