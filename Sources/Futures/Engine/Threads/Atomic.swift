import Synchronization

// The one atomic type of the package.
//
// It is the standard library's type, except under the explorer of thread schedules, where
// each access is a scheduling point. A file of another module that uses it imports
// `Futures` and not `Synchronization`: otherwise the name would be ambiguous.

#if !PROPERATIONS_EXPLORER

  package typealias Atomic<Value: AtomicRepresentable> = Synchronization.Atomic<Value>

#else

  /// An atomic value whose accesses are scheduling points.
  ///
  /// A lock guards it, so every ordering is the strongest one. The explorer tries the
  /// orders of accesses, not the effects of a weak memory model.
  package struct Atomic<Value: Equatable & Sendable>: ~Copyable, Sendable {
    private let value: Mutex<Value>
    private let id = SchedulingPoints.newID()

    package typealias Update = (oldValue: Value, newValue: Value)

    package init(_ initial: Value) { value = Mutex(initial) }

    package borrowing func load(ordering: AtomicLoadOrdering) -> Value { change { _ in }.oldValue }

    package borrowing func store(_ new: Value, ordering: AtomicStoreOrdering) {
      _ = change { $0 = new }
    }

    package borrowing func exchange(_ new: Value, ordering: AtomicUpdateOrdering) -> Value {
      change { $0 = new }.oldValue
    }

    package borrowing func compareExchange(
      expected: Value, desired: Value, ordering: AtomicUpdateOrdering
    ) -> (exchanged: Bool, original: Value) {
      let old = change { if $0 == expected { $0 = desired } }.oldValue
      return (old == expected, old)
    }

    private borrowing func change(_ body: (inout Value) -> Void) -> Update {
      SchedulingPoints.hooks.load()?.access(id)
      return value.withLock { value in
        let old = value
        body(&value)
        return (old, value)
      }
    }
  }

  extension Atomic where Value: FixedWidthInteger {
    @discardableResult
    package borrowing func bitwiseOr(_ operand: Value, ordering: AtomicUpdateOrdering) -> Update {
      change { $0 |= operand }
    }

    @discardableResult
    package borrowing func bitwiseAnd(_ operand: Value, ordering: AtomicUpdateOrdering) -> Update {
      change { $0 &= operand }
    }

    @discardableResult
    package borrowing func max(_ operand: Value, ordering: AtomicUpdateOrdering) -> Update {
      change { $0 = Swift.max($0, operand) }
    }

    @discardableResult
    package borrowing func wrappingAdd(_ operand: Value, ordering: AtomicUpdateOrdering) -> Update {
      change { $0 &+= operand }
    }

    @discardableResult
    package borrowing func wrappingSubtract(
      _ operand: Value, ordering: AtomicUpdateOrdering
    ) -> Update {
      change { $0 &-= operand }
    }
  }

#endif
