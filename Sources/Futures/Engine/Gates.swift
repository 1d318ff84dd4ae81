#if !canImport(Darwin)

  import Foundation

  // The gates of a queue: Foundation's barriers in it.
  //
  // Foundation makes each operation that is added to a queue depend on all gates in it. Its
  // list of dependencies leaves them out, but reflection shows them. An operation that takes
  // itself off the list of a gate has to answer `isReady` by itself, because Foundation goes
  // on counting the gate.

  enum Gates {
    /// Whether reflection shows the gates of an operation.
    static let canBeFound = of(Operation()) != nil

    /// The gates on which an operation depends, in their order.
    static func of(_ operation: Operation) -> [Operation]? {
      allDependencies(of: operation)?.filter(contains)
    }

    /// Whether an operation is a gate.
    static func contains(_ operation: Operation) -> Bool {
      String(describing: type(of: operation)) == "_BarrierOperation"
    }

    /// The dependencies of an operation, with the gates.
    static func allDependencies(of operation: Operation) -> [Operation]? {
      ReflectedOperation.properties(of: operation)?.first { $0.label == "__dependencies" }?.value
        as? [Operation]
    }
  }

  /// An operation that does not wait for the gates in front of it.
  package class UngatedOperation: PlaceholderOperation, @unchecked Sendable {
    // Sendable: has no state.

    /// Depends on no gate any more, and returns those on which the operation depended.
    @discardableResult
    final func leaveGates() -> [Operation] {
      let gates = Gates.of(self) ?? []
      for gate in gates { removeDependency(gate) }
      return gates
    }

    package override var isReady: Bool { unexplored { hasBecomeReady } }
  }

#endif
