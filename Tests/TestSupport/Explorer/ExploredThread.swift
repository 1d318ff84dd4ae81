#if PROPERATIONS_EXPLORER

  import Foundation

  /// The state of one thread of a program in a schedule.
  ///
  ///   ready ◀── the lock is free ─── locked out(of a lock)
  ///     ▲  └── the condition holds ─ blocked(until a condition)
  ///     └─▶ over
  final class ExploredThread: @unchecked Sendable {
    // Sendable: only the thread that has the turn touches the variables; a semaphore is
    // passed with the turn.
    enum Role {
      /// A thread of the program.
      case actor
      /// Starts the operations that a context is given; ends when none can come any more.
      case server
      /// Begins when all actors are over and all servers are idle.
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
    /// The number of nested sections without scheduling points.
    var unexploredSections = 0
    var locksHeld = 0
    /// Whether the thread has accessed an atomic since it took its lock.
    var hasAccessedUnderLock = false
    /// The number of the decision at the thread's last scheduling point, if there was a
    /// choice.
    var lastDecision: Int?
    /// Whether the thread is a server without work.
    var isIdle = false
    /// Whether the thread's blocking wait has timed out.
    var hasTimedOut = false
    unowned(unsafe) var execution: Execution!

    init(index: Int, role: Role, body: @escaping @Sendable () -> Void) {
      self.index = index
      self.role = role
      self.body = body
    }

    var isOver: Bool { if case .over = state { true } else { false } }

    var canTimeOut: Bool {
      if case .blocked(let canTimeOut, _) = state { canTimeOut } else { false }
    }

    /// Runs the body when the thread has the turn; called on a thread of its own.
    func run() {
      turn.wait()
      Self.setCurrent(self)
      body()
      Self.setCurrent(nil)
      execution.end(self)
    }

    // MARK: The calling thread

    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      pthread_key_create(&key, nil)
      return key
    }()

    /// Marks the threads of Dispatch that run blocks of a program's queue.
    static let queueKey = DispatchSpecificKey<ExploredThread>()

    /// The calling thread of a program; `nil` for all other threads.
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
