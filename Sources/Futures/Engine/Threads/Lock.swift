import Foundation
import Synchronization

// The one lock type of the package.
//
// It is `Mutex`, except under the thread sanitizer. The sanitizer does not see through
// the slow path of a contended `Mutex` and reports false races. Build with
// `-Xswiftc -DPROPERATIONS_THREAD_SANITIZER` there. The sanitizer's lock also reports to
// the explorer of thread schedules (`SchedulingPoints.swift`).
//
// Debug builds assert that no thread takes a second lock while it holds one. Without nesting
// no lock order can go wrong. The one exception is no `Lock`: the recursive lock of
// `BarrierOperation.whileNoneIsAdded(_:)` is held while locks of this type are taken, and
// never the other way round.

#if PROPERATIONS_THREAD_SANITIZER || PROPERATIONS_EXPLORER

  /// State that code can reach only under its lock.
  package struct Lock<State: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Sendable: the pointers never change after init, and their memory is only touched
    // between lock and unlock.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let state: UnsafeMutablePointer<State>
    private let id = SchedulingPoints.newID()

    package init(_ initial: consuming State) {
      mutex = .allocate(capacity: 1)
      mutex.initialize(to: pthread_mutex_t())
      pthread_mutex_init(mutex, nil)
      state = .allocate(capacity: 1)
      state.initialize(to: initial)
    }

    deinit {
      state.deinitialize(count: 1)
      state.deallocate()
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
    }

    package borrowing func withLock<Outcome>(
      _ body: (inout State) throws -> Outcome
    ) rethrows -> Outcome {
      SchedulingPoints.willLock(id)
      pthread_mutex_lock(mutex)
      defer {
        pthread_mutex_unlock(mutex)
        SchedulingPoints.didUnlock(id)
      }
      return try body(&state.pointee)
    }
  }

#else

  /// State that code can reach only under its lock.
  //
  // Inlinable, because other modules of the package have locks of their own. Without
  // specialisation each use looks generic metadata up.
  @frozen @usableFromInline
  package struct Lock<State: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Sendable: the state is only touched while the mutex is held. The box states that to
    // the compiler for states that hold closures and references.
    @frozen @usableFromInline
    package struct Box: ~Copyable, @unchecked Sendable {
      @usableFromInline var state: State
      @inlinable init(state: consuming State) { self.state = state }
    }
    @usableFromInline let mutex: Mutex<Box>

    @inlinable @inline(__always)
    package init(_ initial: consuming State) { mutex = Mutex(Box(state: initial)) }

    @inlinable @inline(__always)
    package borrowing func withLock<Outcome>(
      _ body: (inout State) throws -> Outcome
    ) rethrows -> Outcome {
      assert(LockRank.enter(), "a lock was taken while another was held")
      defer { assert(LockRank.leave()) }
      return try mutex.withLock { box in
        UncheckedSending(value: try body(&box.state))
      }.value
    }
  }

  // Sendable: the value comes from under the lock and now belongs to the caller.
  @frozen @usableFromInline
  package struct UncheckedSending<Value>: @unchecked Sendable {
    @usableFromInline let value: Value
    @inlinable init(value: Value) { self.value = value }
  }

#endif

extension Lock {
  /// Replaces the state, and returns the old one.
  @inlinable
  package borrowing func exchange(for new: consuming State) -> State {
    var other = new
    withLock { swap(&$0, &other) }
    return other
  }

  /// Replaces the state.
  ///
  /// Releases the old state after unlock, because the release may run user code.
  @inlinable
  package borrowing func replace(with new: consuming State) {
    var other = new
    withLock { swap(&$0, &other) }
  }
}

/// Makes a key for a word that each thread has of its own.
func makeThreadKey() -> pthread_key_t {
  var key = pthread_key_t()
  // Not in the check itself, which builds without checks leave out.
  let code = pthread_key_create(&key, nil)
  precondition(code == 0, "no key for a word of each thread")
  return key
}

/// Counts the locks that the current thread holds; debug builds only.
@usableFromInline
package enum LockRank {
  private static let key = makeThreadKey()

  @usableFromInline
  package static func enter() -> Bool {
    let wasFree = pthread_getspecific(key) == nil
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    return wasFree
  }

  @usableFromInline
  package static func leave() -> Bool {
    pthread_setspecific(key, nil)
    return true
  }

  /// Whether this thread holds one of the library's locks.
  package static var isHeld: Bool { pthread_getspecific(key) != nil }
}
