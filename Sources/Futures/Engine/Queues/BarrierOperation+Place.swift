#if !canImport(Darwin)

  import Foundation

  // The place of a barrier in its queue: what it waits for, and which barriers wait for it.

  extension BarrierOperation {
    /// Returns those gates of a queue that stay shut until one of some operations has finished.
    static func gates(
      _ gates: [Operation], of queue: OperationQueue, waitingFor operations: [Operation]
    ) -> [Operation] {
      let barriers = keeping(queue.operations).compactMap { $0 as? BarrierOperation }
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
        where keeping(gate.dependencies).contains(where: {
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
      return inFront.contains { dependents.delay($0) || dependents.include($0) }
    }

    /// Returns the late barriers that wait for nothing which needs one of some futures.
    ///
    /// A closure may wait for such a barrier: the barrier has taken a place in front of it. If no
    /// operation is known that runs one of the futures, it is not known either what waits for
    /// the caller, and the answer is none.
    ///
    /// - Parameters:
    ///   - operations: The operations of a queue.
    ///   - futures: The futures whose closures run in the caller.
    static func lateBarriers(
      among operations: [Operation], notWaitingFor futures: [AnyFuture]
    ) -> Set<ObjectIdentifier> {
      let barriers = operations.compactMap { $0 as? BarrierOperation }
      guard barriers.contains(where: \.isLate) else { return [] }
      let callers = operations.filter { operation in
        operation.isExecuting
          && operation.futuresInside.contains { inside in futures.contains { $0 === inside } }
      }
      if callers.isEmpty { return [] }
      // In most cases a barrier waits for the caller itself. Only for the others a search pays.
      let late = barriers.filter { barrier in
        guard barrier.isLate else { return false }
        let awaited = barrier.state.withLock { Set($0.awaited.keys) }
        return !callers.contains { awaited.contains(ObjectIdentifier($0)) }
      }
      if late.isEmpty { return [] }
      return whileNoneIsAdded {
        var dependents = Dependents(of: futures, among: keeping(operations))
        dependents.insert(barriers, andAllBehind: true) { _ in true }
        let others = late.filter { !dependents.include($0) }
        return Set(others.map { ObjectIdentifier($0) })
      }
    }

    private func withoutDependents(_ inFront: [Operation]) -> [Operation] {
      var dependents = Dependents(of: occupants, among: inFront)
      let barriers = inFront.filter { $0 is BarrierOperation || Gates.contains($0) }
      dependents.insert(barriers, andAllBehind: true, if: passes)
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
    /// Their barriers wait for something that waits for the future. Those of the library wait
    /// for the operation, too, from now on, because it may run further closures.
    ///
    /// - Parameter all: The future and those that wait for it; `nil` if there are many.
    fileprivate static func gates(
      of operation: BatchOperation, in queue: OperationQueue, neededFor future: AnyFuture,
      and all: [AnyFuture]?
    ) -> (gates: [Operation], passed: [Operation]) {
      guard let gates = Gates.of(operation), !gates.isEmpty else { return ([], []) }
      let operations = keeping(queue.operations)
      var dependents = Dependents(
        of: all ?? [future], isComplete: all != nil, among: operations)
      // A gate of the library depends on nothing.
      let others = gates.filter { !keeping($0.dependencies).isEmpty }
      let barriers = operations.filter { $0 is BarrierOperation } + others
      dependents.insert(barriers, andAllBehind: false) { barrier in
        (barrier as? BarrierOperation)?.waits(alsoFor: operation) ?? true
      }
      return (gates, gates.filter(dependents.isKnown))
    }

    /// What waits for a late barrier, or for a closure.
    private struct Dependents {
      /// The futures among what is known.
      private var futures: [AnyFuture]
      /// Futures, barriers with their gates, and what is behind these gates.
      private var known: Set<ObjectIdentifier>
      /// Whether all futures that wait for what is known are known, too.
      ///
      /// Otherwise each future is asked what it waits for.
      private var isComplete: Bool
      private let inFront: [Operation]

      init(of futures: [AnyFuture], isComplete: Bool = false, among inFront: [Operation]) {
        self.futures = BarrierOperation.keeping(futures)
        known = Set(futures.map { ObjectIdentifier($0) })
        self.isComplete = isComplete
        self.inFront = inFront
      }

      func isKnown(_ operation: Operation) -> Bool { known.contains(ObjectIdentifier(operation)) }

      /// Adds those barriers that wait for what is known, if another condition holds, too.
      ///
      /// - Parameter addsAllBehind: Whether what is behind them is added in any case, and not
      ///   only where another barrier may wait for it.
      mutating func insert(
        _ barriers: [Operation], andAllBehind addsAllBehind: Bool,
        if mayBeInserted: (Operation) -> Bool
      ) {
        var barriers = barriers
        var inserted: [(barrier: Operation, gate: Operation?)] = []
        repeat {
          // What is behind comes last: to find it, each operation is asked for its gates.
          for (barrier, gate) in inserted { insert(behind(barrier, gate)) }
          inserted = []
          // One barrier may wait for another by way of a dependency.
          while let index = barriers.firstIndex(where: { delay($0) && mayBeInserted($0) }) {
            let barrier = barriers.remove(at: index)
            let gate = (barrier as? BarrierOperation)?.state.withLock { $0.gate }
            insert([barrier] + (gate.map { [$0] } ?? []))
            inserted.append((barrier, gate))
          }
        } while !inserted.isEmpty && (addsAllBehind || !barriers.isEmpty)
      }

      private mutating func insert(_ operations: [Operation]) {
        for operation in operations {
          known.insert(ObjectIdentifier(operation))
          for future in keeping(operation.futuresInside) { insert(future) }
        }
      }

      private mutating func insert(_ future: AnyFuture) {
        guard known.insert(ObjectIdentifier(future)).inserted, isComplete else { return }
        guard let all = Graph.downstreams(of: future) else {
          isComplete = false
          return
        }
        futures += all
        known.formUnion(all.map { ObjectIdentifier($0) })
        _ = keeping(all)
      }

      /// What waits for a barrier, which has a gate or is one.
      private func behind(_ barrier: Operation, _ gate: Operation?) -> [Operation] {
        if let barrier = barrier as? BarrierOperation {
          guard let gate else { return [] }
          let behind = inFront.drop { $0 !== barrier }.dropFirst()
          return behind.filter { barrier.isHeld($0, by: gate) }
        }
        let ofGate = Set(keeping(barrier.dependencies).map { ObjectIdentifier($0) })
        // Each gate depends on all gates before it. They are in their order.
        var isGateBefore = true
        return inFront.filter { operation in
          if Gates.contains(operation) {
            defer { if operation === barrier { isGateBefore = false } }
            return !isGateBefore
          }
          guard let placeholder = operation as? PlaceholderOperation else {
            return !ofGate.contains(ObjectIdentifier(operation))
          }
          return Gates.isHeld(placeholder, by: barrier)
        }
      }

      /// Whether a barrier, which is not known yet, waits for one of them.
      func delay(_ barrier: Operation) -> Bool {
        if isKnown(barrier) { return false }
        guard let barrier = barrier as? BarrierOperation else {
          return Gates.contains(barrier) && keeping(barrier.dependencies).contains(where: include)
        }
        let awaited = barrier.state.withLock { Array($0.awaited.values) }
        return keeping(awaited.compactMap(\.operation)).contains(where: include)
      }

      /// Whether an operation is a dependent, or stands for one.
      func include(_ operation: Operation) -> Bool {
        // A closure that has not begun waits for nothing but its slot.
        if operation is BatchOperation, !operation.isExecuting { return isKnown(operation) }
        if isComplete, let members = operation as? PendingMembers {
          return isKnown(members) || futures.contains { $0.storage.isMember(of: members) }
        }
        return others(operation).first !== operation
      }

      /// Returns the operation, or the futures that it stands for, unless they are dependents.
      func others(_ operation: Operation) -> [Operation] {
        var (next, seen) = ([operation], Set<ObjectIdentifier>())
        while let one = next.popLast() {
          if isKnown(one) { return [] }
          guard seen.insert(ObjectIdentifier(one)).inserted else { continue }
          if one !== operation { next += keeping(one.futuresInside) }
          let stoodFor = (one as? any FutureEquivalent)?.represented
          if let future = one as? AnyFuture ?? stoodFor {
            if contain(future) { return [] }
          } else {
            next += keeping(one.dependencies)
          }
        }
        let futures = keeping(operation.futuresInside)
        let others = futures.filter { !contain($0) }
        return others.count == futures.count ? [operation] : others
      }

      /// Whether a future waits for one of them, or is one.
      private func contain(_ future: AnyFuture) -> Bool {
        isComplete
          ? isKnown(future) && !future.isFinished
          : Graph.needs(future, oneOf: known, toFinish: true)
      }
    }
  }

  extension BatchOperation {
    /// Lets a closure that has just entered its queue start in front of the barriers that wait
    /// for something that needs its future.
    final func passBarriers(neededFor future: AnyFuture, in queue: OperationQueue) {
      guard !isFreeForFoundation, queue.hasBarrierOperations else { return }
      let all = Graph.downstreams(of: future)
      if let all, !all.contains(where: \.mayHoldUpOperation) { return }
      BarrierOperation.whileNoneIsAdded {
        let (gates, passed) = BarrierOperation.gates(
          of: self, in: queue, neededFor: future, and: all)
        if !passed.isEmpty { leave(passed, of: gates) }
      }
    }
  }

#endif
