#if !canImport(Darwin)

  import Foundation

  // The gates of a queue: Foundation's barriers in it.
  //
  // Foundation makes each operation that is added to a queue depend on all gates in it. Its
  // list of dependencies leaves them out, but reflection shows them. Reflection takes no lock
  // of Foundation, so it is used only for operations whose list no user can change:
  // placeholders, and the gates of barriers of the library. A placeholder that takes
  // itself off the list of a gate counts its gates by itself from then on, because Foundation
  // goes on counting the gate that was left.

  enum Gates {
    static let countedByFoundation = -1

    /// Whether reflection shows the gates of an operation.
    static let canBeFound = allDependencies(of: Operation()) != nil

    /// The gates on which an operation depends, in their order.
    static func of(_ operation: PlaceholderOperation) -> [Operation]? {
      allDependencies(of: operation)?.filter(contains)
    }

    /// The class of gates, once it is known.
    private static let known = Atomic<UInt>(0)

    /// Whether an operation is a gate.
    static func contains(_ operation: Operation) -> Bool {
      let id = UInt(bitPattern: ObjectIdentifier(type(of: operation)))
      if known.load(ordering: .relaxed) == id { return true }
      // Making the name takes a hundred times as long.
      guard String(describing: type(of: operation)) == "_BarrierOperation" else { return false }
      known.store(id, ordering: .relaxed)
      return true
    }

    /// Whether an operation is behind a gate, and has not left it.
    static func isHeld(_ operation: PlaceholderOperation, by gate: Operation) -> Bool {
      allDependencies(of: operation)?.contains { $0 === gate } == true
    }

    /// The dependencies of an operation, with the gates.
    static func allDependencies(of operation: Operation) -> [Operation]? {
      ReflectedOperation.properties(of: operation)?.first { $0.label == "__dependencies" }?.value
        as? [Operation]
    }
  }

  extension PlaceholderOperation {
    /// Depends on no gate any more, and returns those on which the operation depended.
    @discardableResult
    final func leaveGates() -> [Operation] {
      let gates = Gates.of(self) ?? []
      leave(gates, of: gates)
      return gates
    }

    /// Does not depend on some of its gates any more.
    final func leave(_ some: [Operation], of gates: [Operation]) {
      // One more, so that the operation is not ready before all of them are observed.
      gatesInFront.store(gates.count - some.count + 1, ordering: .releasing)
      for gate in some { removeDependency(gate) }
      let left = Set(some.map { ObjectIdentifier($0) })
      for gate in gates where !left.contains(ObjectIdentifier(gate)) {
        _ = OperationObserver(of: gate) { self.gateHasOpened() }
      }
      gateHasOpened()
    }

    /// Is not ready before a barrier has finished.
    final func wait(behind barrier: BarrierOperation) {
      if gatesInFront.load(ordering: .acquiring) == Gates.countedByFoundation {
        return addDependency(barrier)
      }
      gatesInFront.wrappingAdd(1, ordering: .acquiringAndReleasing)
      _ = OperationObserver(of: barrier) { self.gateHasOpened() }
    }

    private func gateHasOpened() {
      willChange(.isReady)
      let left = gatesInFront.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
      didBecomeReady(if: left == 0)
    }
  }

  extension AnyFuture {
    /// Lets Foundation count a dependency that is none of the future itself.
    final func addDependencyOfQueue(_ operation: Operation) {
      super.addDependency(operation)
    }
  }

  extension OperationQueue {
    /// Whether barriers of the library in this queue are `BarrierOperation`s.
    ///
    /// A subclass may have barriers of its own.
    var hasBarrierOperations: Bool { type(of: self) == OperationQueue.self && Gates.canBeFound }
  }

#endif
