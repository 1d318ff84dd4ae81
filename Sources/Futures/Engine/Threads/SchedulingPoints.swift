import Synchronization

// The points at which the explorer of thread schedules (`TestSupport`) may let another
// thread go on: every lock, every atomic, every hand-off to Foundation or to a context,
// every blocking wait.
//
// They exist only in builds with `-Xswiftc -DPROPERATIONS_EXPLORER`. In all other builds
// each function here is empty and is inlined.

package enum SchedulingPoints {
  #if PROPERATIONS_EXPLORER
    /// The closures that the explorer runs at scheduling points.
    ///
    /// Each closure returns at once on a thread that the explorer does not run.
    package final class Hooks: Sendable {
      /// Called before a lock is taken.
      package let lock: @Sendable (_ id: Int) -> Void
      /// Called after a lock was released.
      package let unlock: @Sendable (_ id: Int) -> Void
      /// Called before an atomic is read or written.
      package let access: @Sendable (_ id: Int) -> Void
      /// Called before work is handed to code that has no scheduling points.
      package let handOff: @Sendable () -> Void
      /// Called before a thread blocks.
      ///
      /// Returns `nil` on a thread that the explorer does not run. Otherwise returns
      /// whether the condition holds; `false` means that the wait timed out.
      package let block: @Sendable (_ canTimeOut: Bool, _ condition: @Sendable () -> Bool) -> Bool?
      /// Called at the beginning and at the end of a section without scheduling points.
      package let setExplored: @Sendable (_ isExplored: Bool) -> Void
      /// Called for each new timer.
      ///
      /// Returns a closure that cancels the timer, or `nil` if the explorer does not run
      /// it.
      package let startTimer:
        @Sendable (_ duration: Duration, _ ring: @escaping @Sendable () -> Void) -> (
          @Sendable () -> Void
        )?

      package init(
        lock: @escaping @Sendable (Int) -> Void, unlock: @escaping @Sendable (Int) -> Void,
        access: @escaping @Sendable (Int) -> Void, handOff: @escaping @Sendable () -> Void,
        block: @escaping @Sendable (Bool, @Sendable () -> Bool) -> Bool?,
        setExplored: @escaping @Sendable (Bool) -> Void,
        startTimer:
          @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> (
            @Sendable () -> Void
          )?
      ) {
        self.lock = lock
        self.unlock = unlock
        self.access = access
        self.handOff = handOff
        self.block = block
        self.setExplored = setExplored
        self.startTimer = startTimer
      }
    }

    /// The explorer's hooks, set once.
    package static let hooks = AtomicLazyReference<Hooks>()

    private static let lastID = Synchronization.Atomic<Int>(0)
  #endif

  /// Returns a number that no other lock or atomic has.
  @inline(__always)
  static func newID() -> Int {
    #if PROPERATIONS_EXPLORER
      lastID.wrappingAdd(1, ordering: .relaxed).newValue
    #else
      0
    #endif
  }

  /// Tells the explorer that a lock is about to be taken.
  @inline(__always)
  static func willLock(_ lock: Int) {
    #if PROPERATIONS_EXPLORER
      hooks.load()?.lock(lock)
    #endif
  }

  /// Tells the explorer that a lock was released.
  @inline(__always)
  static func didUnlock(_ lock: Int) {
    #if PROPERATIONS_EXPLORER
      hooks.load()?.unlock(lock)
    #endif
  }

  /// Tells the explorer that work is about to be handed to a queue, to a context or to
  /// Foundation, whose own locks are no scheduling points.
  @inline(__always)
  package static func handOff() {
    #if PROPERATIONS_EXPLORER
      hooks.load()?.handOff()
    #endif
  }

  /// Ends the scheduling points of this thread until ``resume()``.
  ///
  /// For functions that Foundation calls while it holds its own locks. Sections nest.
  @inline(__always)
  package static func suspend() {
    #if PROPERATIONS_EXPLORER
      hooks.load()?.setExplored(false)
    #endif
  }

  /// Ends a section that ``suspend()`` began.
  @inline(__always)
  package static func resume() {
    #if PROPERATIONS_EXPLORER
      hooks.load()?.setExplored(true)
    #endif
  }
}

/// Runs a body without scheduling points.
///
/// For overrides that Foundation calls while it holds its own locks. The explorer must
/// not stop a thread there, because it does not know of those locks.
@inline(__always)
package func unexplored<Value>(_ body: () -> Value) -> Value {
  SchedulingPoints.suspend()
  defer { SchedulingPoints.resume() }
  return body()
}
