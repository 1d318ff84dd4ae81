#if PROPERATIONS_EXPLORER

  import Foundation
  import Synchronization

  /// Runs the threads of a program once, one thread at a time.
  ///
  /// The *turn* is the right to run. The thread that has the turn calls this object at
  /// each scheduling point, and may pass the turn on. Nothing here has a lock: everything
  /// belongs to the thread that has the turn.
  ///
  /// Locks are modelled. A thread that wants a lock of another thread does not get the
  /// turn before the lock is free, so it never blocks in the real lock.
  ///
  ///   running ── actors over, servers idle ──▶ finishing
  ///           ── finishers over, servers idle ──▶ closing ── all over ──▶ over
  final class Execution: @unchecked Sendable {
    // Sendable: see above; `over` and `progress` are safe on any thread.
    private enum Phase {
      case running, finishing, closing
    }

    let program: ExploredProgram
    private var strategy: any SchedulingStrategy
    private let stepLimit: Int
    private var phase = Phase.running
    private var owners: [Int: ExploredThread] = [:]
    /// The turns that were lent to the owner of a lock until the owner unlocks it.
    private var loans: [(lender: ExploredThread, lock: Int)] = []

    private(set) var decisions: [Decision] = []
    /// The threads that have touched an object, by bit.
    private(set) var touches: [Int: UInt8] = [:]
    /// How often the turn has passed from one thread to another.
    private(set) var passes = 0
    /// The deviations from the default decisions, as a schedule.
    private(set) var schedule = Schedule()
    private(set) var trace: ScheduleTrace
    private(set) var failure: ScheduleFailure.Kind?

    /// Signalled when the execution is over, or has failed.
    let over = DispatchSemaphore(value: 0)
    /// The number of scheduling points so far.
    let progress = Synchronization.Atomic<Int>(0)

    /// The object that stands for hand-offs.
    static let outside = 0

    init(
      _ program: ExploredProgram, strategy: any SchedulingStrategy, stepLimit: Int,
      namesFunctions: Bool
    ) {
      trace = ScheduleTrace(namesFunctions: namesFunctions)
      self.program = program
      self.strategy = strategy
      self.stepLimit = stepLimit
      for thread in program.threads {
        thread.execution = self
        if thread.role == .finisher {
          thread.state = .blocked(canTimeOut: false) { [unowned self] in phase != .running }
        }
      }
    }

    /// Gives the first thread the turn.
    func start() {
      guard let first = next(after: nil, touching: Self.outside) else { return }
      trace.begin(first, at: decisions.count)
      first.state = .ready
      first.turn.signal()
    }

    // MARK: Events, each on the thread that has the turn

    func lock(_ lock: Int, by thread: ExploredThread) {
      touch(lock, by: thread)
      reachPoint(thread, touching: lock)
      while let owner = owners[lock] {
        if owner === thread { fail(.deadlock, thread) }
        if thread.unexploredSections > 0 || !loans.isEmpty {
          lend(to: owner, until: lock, from: thread)
        } else {
          thread.state = .lockedOut(lock: lock)
          passTurnOn(from: thread, touching: lock)
        }
      }
      owners[lock] = thread
      thread.locksHeld += 1
      thread.hasAccessedUnderLock = false
    }

    func unlock(_ lock: Int, by thread: ExploredThread) {
      owners[lock] = nil
      thread.locksHeld -= 1
      if let loan = loans.last, loan.lock == lock {
        loans.removeLast()
        loan.lender.turn.signal()
        thread.turn.wait()
      }
    }

    func access(_ atomic: Int, by thread: ExploredThread) {
      touch(atomic, by: thread)
      // The first access under a lock is no scheduling point of its own: a switch before
      // the lock has the same effect.
      if thread.locksHeld > 0, !thread.hasAccessedUnderLock {
        thread.hasAccessedUnderLock = true
        if let last = thread.lastDecision { decisions[last].objectUnderLock = atomic }
      } else {
        reachPoint(thread, touching: atomic)
      }
    }

    func handOff(by thread: ExploredThread) { reachPoint(thread, touching: Self.outside) }

    /// Returns `false` if the wait has timed out.
    ///
    /// Time passes only when no thread can continue otherwise.
    func block(
      _ thread: ExploredThread, canTimeOut: Bool, until condition: () -> Bool
    ) -> Bool {
      reachPoint(thread, touching: Self.outside)
      return withoutActuallyEscaping(condition) { condition in
        while !evaluate(condition, by: thread) {
          thread.state = .blocked(canTimeOut: canTimeOut, until: condition)
          passTurnOn(from: thread, touching: Self.outside)
          if thread.hasTimedOut {
            thread.hasTimedOut = false
            return false
          }
        }
        return true
      }
    }

    /// Blocks a server until it has work.
    ///
    /// Returns `false` when no work can come any more.
    func idle(_ thread: ExploredThread, until hasWork: () -> Bool) -> Bool {
      thread.isIdle = true
      defer { thread.isIdle = false }
      _ = block(thread, canTimeOut: false) { phase == .closing || hasWork() }
      return hasWork()
    }

    /// The body of a thread has returned.
    func end(_ thread: ExploredThread) {
      thread.state = .over
      guard let next = next(after: thread, touching: Self.outside) else { return }
      trace.pass(from: thread, to: next, at: decisions.count, touching: nil)
      passes += 1
      next.state = .ready
      next.turn.signal()
    }

    // MARK: Points

    private func touch(_ object: Int, by thread: ExploredThread) {
      touches[object, default: 0] |= 1 << UInt8(thread.index)
    }

    private func reachPoint(_ thread: ExploredThread, touching object: Int) {
      guard thread.unexploredSections == 0, loans.isEmpty else { return }
      if progress.add(1, ordering: .relaxed).newValue > stepLimit { fail(.stepLimit, thread) }
      if owners.isEmpty { checkInvariants(thread) }
      passTurnOn(from: thread, touching: object)
    }

    private func checkInvariants(_ thread: ExploredThread) {
      for invariant in program.invariants
      where !evaluate({ (try? invariant.holds()) == true }, by: thread) {
        fail(.invariant(invariant.name), thread)
      }
    }

    private func evaluate(_ condition: () -> Bool, by thread: ExploredThread) -> Bool {
      thread.unexploredSections += 1
      defer { thread.unexploredSections -= 1 }
      return condition()
    }

    // MARK: The turn

    /// Lets the next thread continue; returns when this thread has the turn again.
    private func passTurnOn(from thread: ExploredThread, touching object: Int) {
      let count = decisions.count
      guard let next = next(after: thread, touching: object) else { return park(thread) }
      if case .ready = thread.state, decisions.count > count {
        thread.lastDecision = count
      } else {
        thread.lastDecision = nil
      }
      if next === thread {
        thread.state = .ready
        return
      }
      trace.pass(from: thread, to: next, at: decisions.count, touching: object)
      passes += 1
      next.state = .ready
      next.turn.signal()
      thread.turn.wait()
    }

    /// A section without scheduling points needs a lock: lets the owner run until the
    /// lock is free.
    private func lend(to owner: ExploredThread, until lock: Int, from thread: ExploredThread) {
      guard case .ready = owner.state else { return fail(.stalled, thread) }
      loans.append((thread, lock))
      owner.turn.signal()
      thread.turn.wait()
    }

    /// Returns the thread that continues; `nil` if the execution is over or has failed.
    private func next(
      after thread: ExploredThread?, touching object: Int
    ) -> ExploredThread? {
      while true {
        var options: UInt8 = 0
        for other in program.threads where canGoOn(other, asked: thread) {
          options |= 1 << UInt8(other.index)
        }
        if options != 0 { return choose(among: options, after: thread, touching: object) }
        if let late = program.threads.first(where: \.canTimeOut) {
          late.hasTimedOut = true
          return late
        }
        guard goesOn() else { return nil }
      }
    }

    private func canGoOn(_ thread: ExploredThread, asked: ExploredThread?) -> Bool {
      switch thread.state {
      case .ready: return true
      case .lockedOut(let lock): return owners[lock] == nil
      case .blocked(_, let condition):
        return asked.map { evaluate(condition, by: $0) } ?? condition()
      case .over: return false
      }
    }

    private func choose(
      among options: UInt8, after thread: ExploredThread?, touching object: Int
    ) -> ExploredThread? {
      guard options.nonzeroBitCount > 1 else {
        return program.threads[options.trailingZeroBitCount]
      }
      let current = thread.flatMap { Decision.contains(options, $0.index) ? $0.index : nil }
      let number = decisions.count
      let chosen = strategy.choose(among: options, current: current, at: number)
      guard (0..<8).contains(chosen), Decision.contains(options, chosen) else {
        end(with: .notRepeatable)
        return nil
      }
      if chosen != Decision.byDefault(options, current: current) {
        schedule.append(chosen, at: number)
      }
      decisions.append(
        Decision(options: options, current: current, chosen: chosen, object: object))
      return program.threads[chosen]
    }

    /// No thread can continue: begins the next phase, or ends the execution.
    private func goesOn() -> Bool {
      let isQuiet = program.threads.allSatisfy {
        $0.isOver || $0.isIdle || $0.role == .finisher && phase == .running
      }
      switch phase {
      case .running where isQuiet: phase = .finishing
      case .finishing where isQuiet: phase = .closing
      case .closing where isQuiet:
        end(with: nil)
        return false
      default:
        end(with: .deadlock)
        return false
      }
      return true
    }

    private func end(with kind: ScheduleFailure.Kind?) {
      failure = kind
      over.signal()
    }

    private func fail(_ kind: ScheduleFailure.Kind, _ thread: ExploredThread) {
      end(with: kind)
      park(thread)
    }

    /// Stops a thread of a failed execution forever: it may hold locks, and nothing can
    /// unwind it.
    private func park(_ thread: ExploredThread) {
      while true { thread.turn.wait() }
    }
  }

#endif
