#if !canImport(Darwin)

  import Foundation

  // The place of a barrier in its queue: what it waits for, and which barriers wait for it.

  extension BarrierOperation {
    /// Returns those gates of a queue that stay shut until one of some operations has finished.
    static func gates(
      _ gates: [Operation], of queue: OperationQueue, waitingFor operations: [Operation]
    ) -> [Operation] {
      let barriers = queue.operations.compactMap { $0 as? BarrierOperation }
      var waiting = Set(operations.map { ObjectIdentifier($0) })
      var count = 0
      while waiting.count > count {
        count = waiting.count
        for barrier in barriers where !waiting.contains(ObjectIdentifier(barrier)) {
          let (awaited, gate) = barrier.state.withLock { ($0.awaited.keys, $0.gate) }
          if waiting.isDisjoint(with: awaited) { continue }
          waiting.formUnion([barrier, gate].compactMap { $0.map(ObjectIdentifier.init) })
        }
        for gate in gates
        where gate.dependencies.contains(where: {
          waiting.contains(ObjectIdentifier($0))
        }) {
          waiting.insert(ObjectIdentifier(gate))
        }
      }
      return gates.filter { waiting.contains(ObjectIdentifier($0)) }
    }

    /// Returns those of the operations in front for which the barrier has to wait itself.
    ///
    /// Another one of these barriers may wait for the rest. A late barrier does not wait for
    /// operations that wait for it, nor for later barriers that wait for these: it takes a
    /// place in front of them.
    ///
    /// - Parameter gates: All gates in front, some of which are Foundation's own barriers.
    /// - Returns: These operations, and whether no operation in front waits for this barrier.
    func needed(
      of inFront: [Operation], and gates: [Operation]
    ) -> (operations: [Operation], isAll: Bool) {
      let ofBarriers = Set(
        inFront.compactMap { operation in
          (operation as? BarrierOperation)?.state.withLock { $0.gate.map(ObjectIdentifier.init) }
        })
      let barriers = gates.filter { !ofBarriers.contains(ObjectIdentifier($0)) }
      let all = isLate ? withoutDependents(inFront + barriers) : inFront + barriers
      let isAll = !isLate || all.elementsEqual(inFront + barriers, by: ===)
      var covered: Set<ObjectIdentifier> = []
      for case let barrier as BarrierOperation in all {
        covered.formUnion(barrier.state.withLock { $0.awaited.keys })
      }
      return (all.filter { !covered.contains(ObjectIdentifier($0)) }, isAll)
    }

    /// Whether one of the operations in front waits for the barrier.
    func hasDependents(among inFront: [Operation]) -> Bool {
      if !isLate { return false }
      let dependents = Dependents(of: occupants, among: inFront)
      return inFront.contains { operation in
        dependents.delay(operation)
          || !dependents.others(operation).elementsEqual([operation], by: ===)
      }
    }

    private func withoutDependents(_ inFront: [Operation]) -> [Operation] {
      var dependents = Dependents(of: occupants, among: inFront)
      let barriers = inFront.filter { $0 is BarrierOperation || Gates.contains($0) }
      dependents.insert(barriers, if: passes)
      return inFront.flatMap(dependents.others)
    }

    /// Makes a barrier wait for this one, which takes a place in front of it.
    ///
    /// What it waits for, and what needs this barrier, may be cancelled before this one has run.
    ///
    /// Returns `false` if the other barrier does not wait any more.
    private func passes(_ other: Operation) -> Bool {
      (other as? BarrierOperation)?.waits(alsoFor: self) ?? true
    }

    /// Makes this barrier wait for an operation that takes a place in front of it.
    ///
    /// Returns `false` if the barrier does not wait any more.
    private func waits(alsoFor operation: Operation) -> Bool {
      let id = ObjectIdentifier(operation)
      let isWaiting = state.withLock { state in
        if state.awaited.isEmpty { return false }
        state.awaited[id] = .operation(operation)
        return true
      }
      if isWaiting { _ = OperationObserver(of: operation) { self.hasFinished(id) } }
      return isWaiting
    }

    /// Returns those of an operation's gates that stay shut until a future has finished whose
    /// closure the operation runs.
    ///
    /// Their barriers wait for something that waits for the future. From now on they wait for
    /// the operation, too, because it may run further closures.
    fileprivate static func gates(
      of operation: BatchOperation, in queue: OperationQueue, neededFor future: AnyFuture
    ) -> (gates: [Operation], passed: [Operation]) {
      guard let gates = Gates.of(operation), !gates.isEmpty else { return ([], []) }
      let operations = queue.operations
      var dependents = Dependents(of: [future], among: operations)
      let barriers = operations.compactMap { $0 as? BarrierOperation }
      dependents.insert(barriers) { $0.waits(alsoFor: operation) }
      return (gates, gates.filter(dependents.contains))
    }

    /// What waits for a late barrier, or for a closure.
    private struct Dependents {
      /// Futures, barriers with their gates, and what is behind these gates.
      private var known: Set<ObjectIdentifier>
      private let inFront: [Operation]

      init(of futures: [AnyFuture], among inFront: [Operation]) {
        known = Set(futures.map { ObjectIdentifier($0) })
        self.inFront = inFront
      }

      func contains(_ operation: Operation) -> Bool {
        known.contains(ObjectIdentifier(operation))
      }

      /// Adds those barriers that wait for what is known, if another condition holds, too.
      mutating func insert<Barrier: Operation>(
        _ barriers: [Barrier], if mayBeInserted: (Barrier) -> Bool
      ) {
        // One barrier may wait for another by way of a dependency.
        while let next = barriers.first(where: { delay($0) && mayBeInserted($0) }) {
          insert(next)
        }
      }

      private mutating func insert(_ barrier: Operation) {
        let gate =
          if let barrier = barrier as? BarrierOperation { barrier.state.withLock { $0.gate } } else
          {
            barrier
          }
        let behind = inFront.filter { operation in
          gate.map { Gates.isHeld(operation, by: $0) } == true
        }
        for operation in [barrier] + behind + (gate.map { [$0] } ?? []) {
          known.insert(ObjectIdentifier(operation))
          known.formUnion(operation.futuresInside.map { ObjectIdentifier($0) })
        }
      }

      /// Whether a barrier, which is not known yet, waits for one of them.
      func delay(_ barrier: Operation) -> Bool {
        if known.contains(ObjectIdentifier(barrier)) { return false }
        guard let barrier = barrier as? BarrierOperation else { return others(barrier).isEmpty }
        return barrier.state.withLock { Array($0.awaited.values) }.contains { awaited in
          guard let operation = awaited.operation else { return false }
          return others(operation).first !== operation
        }
      }

      /// Returns the operation, or the futures that it stands for, unless they are dependents.
      func others(_ operation: Operation) -> [Operation] {
        var (next, seen) = ([operation], Set<ObjectIdentifier>())
        while let one = next.popLast() {
          if known.contains(ObjectIdentifier(one)) { return [] }
          guard seen.insert(ObjectIdentifier(one)).inserted else { continue }
          if one !== operation { next += one.futuresInside }
          let stoodFor = (one as? any FutureEquivalent)?.represented
          if let future = one as? AnyFuture ?? stoodFor {
            if Graph.needs(future, oneOf: known, toFinish: true) { return [] }
          } else {
            next += one.dependencies
          }
        }
        let futures = operation.futuresInside
        let others = futures.filter { !Graph.needs($0, oneOf: known, toFinish: true) }
        return others.count == futures.count ? [operation] : others
      }
    }
  }

  extension BatchOperation {
    /// Lets a closure that has just entered its queue start in front of the barriers that wait
    /// for something that needs its future.
    final func passBarriers(neededFor future: AnyFuture, in queue: OperationQueue) {
      guard !isFreeForFoundation, queue.hasBarrierOperations,
        Graph.mayHoldUpOperations(future)
      else { return }
      // What the search releases settles nothing before the lock is free.
      WorkLoop.current.perform { _ in
        BarrierOperation.whileNoneIsAdded {
          let (gates, passed) = BarrierOperation.gates(of: self, in: queue, neededFor: future)
          if !passed.isEmpty { leave(passed, of: gates) }
        }
      }
    }
  }

#endif
