import Foundation
import TestSupport
import Testing

@testable import Futures

/// The dependencies of a future as a pure value.
@Suite("The table of dependencies", .timeLimit(.minutes(5)), .oneAtATime)
struct DependencyTableTests {
  private let dependent = Promise<Int>()

  private func edge(to operation: Operation) -> DependencyEdge {
    DependencyEdge(from: dependent.reference, to: operation)
  }

  private var continuation: Continuation { .link(dependent, reading: dependent) }

  @Test func `an empty table is satisfied and holds nothing`() {
    var table = DependencyTable()
    #expect(table.isSatisfied)
    #expect(table.count == 0)
    let isHeld = table.hold(continuation, on: .inline)
    #expect(!isHeld)
  }

  @Test func `operations and futures are listed in the order in which they were added`() {
    var table = DependencyTable()
    let operations: [Operation] = [
      BlockOperation {}, Promise<Int>(), Operation(), Promises.makeSucceeded(with: 1),
      Promise<String>(),
    ]
    for operation in operations { _ = table.add(edge(to: operation), to: operation) }
    #expect(table.operations.map(ObjectIdentifier.init) == operations.map(ObjectIdentifier.init))
    #expect(table.pendingFutures.count == 3)
    #expect(table.pendingOperations.count == 2)
    #expect(!table.isSatisfied)
  }

  @Test func `the same operation twice is one dependency`() {
    var table = DependencyTable()
    let operation = Operation()
    let first = table.add(edge(to: operation), to: operation)
    let second = table.add(edge(to: operation), to: operation)
    #expect(first)
    #expect(!second)
    #expect(table.count == 1)
    _ = table.remove(DependencyEdge.id(of: operation))
    #expect(table.isSatisfied)
  }

  @Test func `what is held comes back with the last that finishes, in any order`() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      var table = DependencyTable()
      let operations: [Operation] = [Operation(), Promise<Int>(), Operation()]
      let edges = operations.map(edge(to:))
      for (edge, operation) in zip(edges, operations) { _ = table.add(edge, to: operation) }
      let isHeld = table.hold(continuation, on: .inline)
      #expect(isHeld)
      for (count, index) in order.enumerated() {
        let step = table.finished(edges[index])
        #expect(step.isSatisfied == (count == 2))
        #expect((step.held != nil) == (count == 2))
        #expect(step.edge === edges[index])
      }
      // They are still dependencies; only nothing waits for them any more.
      #expect(table.count == 3)
      #expect(table.pendingFutures.isEmpty)
      #expect(table.pendingOperations.isEmpty)
      let isHeldAgain = table.hold(continuation, on: .inline)
      #expect(!isHeldAgain)
    }
  }

  @Test func `an edge that finishes twice counts once`() {
    var table = DependencyTable()
    let (first, second) = (Operation(), Operation())
    let (firstEdge, secondEdge) = (edge(to: first), edge(to: second))
    _ = table.add(firstEdge, to: first)
    _ = table.add(secondEdge, to: second)
    _ = table.finished(firstEdge)
    let again = table.finished(firstEdge)
    #expect(!again.isSatisfied)
    #expect(again.edge == nil)
    #expect(!table.isSatisfied)
  }

  @Test func `an edge that was taken back and added again is another edge`() {
    var table = DependencyTable()
    let operation = Operation()
    let (old, new) = (edge(to: operation), edge(to: operation))
    _ = table.add(old, to: operation)
    _ = table.remove(DependencyEdge.id(of: operation))
    _ = table.add(new, to: operation)
    let late = table.finished(old)
    #expect(!late.isSatisfied)
    #expect(!table.isSatisfied)
    let step = table.finished(new)
    #expect(step.isSatisfied)
  }

  @Test func `taking back the last pending one lets what is held go on, and the others stay`() {
    var table = DependencyTable()
    let (done, pending) = (Operation(), Operation())
    let (doneEdge, pendingEdge) = (edge(to: done), edge(to: pending))
    _ = table.add(doneEdge, to: done)
    _ = table.add(pendingEdge, to: pending)
    _ = table.finished(doneEdge)
    _ = table.hold(continuation, on: .inline)
    let step = table.remove(DependencyEdge.id(of: pending))
    #expect(step.isSatisfied)
    #expect(step.held != nil)
    #expect(step.edge === pendingEdge)
    #expect(table.operations == [done])
  }

  @Test func `taking back what has finished, or was never there, changes nothing else`() {
    var table = DependencyTable()
    let (done, pending) = (Operation(), Operation())
    let doneEdge = edge(to: done)
    _ = table.add(doneEdge, to: done)
    _ = table.add(edge(to: pending), to: pending)
    _ = table.finished(doneEdge)
    _ = table.hold(continuation, on: .inline)
    for operation in [done, Operation()] {
      let step = table.remove(DependencyEdge.id(of: operation))
      #expect(!step.isSatisfied)
      #expect(step.held == nil)
      #expect(step.edge == nil)
    }
    #expect(table.operations == [pending])
    #expect(!table.isSatisfied)
  }

  @Test func `a table that is cleared drops what it held and hands its edges out`() {
    var table = DependencyTable()
    let operations = [Operation(), Operation()]
    for operation in operations { _ = table.add(edge(to: operation), to: operation) }
    _ = table.hold(continuation, on: .inline)
    let step = table.clear()
    #expect(step.removed.count == 2)
    #expect(step.dropped != nil)
    #expect(step.held == nil)
    #expect(!step.isSatisfied)
    #expect(table.isSatisfied)
    #expect(table.count == 0)
  }

  @Test func `a promise that is gone is not listed any more`() {
    var table = DependencyTable()
    func add() {
      let promise = Promise<Int>()
      _ = table.add(edge(to: promise), to: promise)
    }
    add()
    #expect(table.operations.isEmpty)
    #expect(table.pendingFutures.isEmpty)
  }

  @Test func `new operations in the places of promises that are gone are dependencies, too`() {
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: ManualContext()) { $0 }
    var isMissing = false
    for _ in 0..<100 {
      // What is gone leaves its address to the next one.
      do {
        let lost = Promise<Int>()
        future.addDependency(lost)
        lost.succeed(with: 1)
      }
      let pending = Promise<Int>()
      future.addDependency(pending)
      if !future.dependencies.contains(where: { $0 === pending }) { isMissing = true }
      future.removeDependency(pending)
    }
    #expect(!isMissing)
    future.cancel()
  }
}

extension DependencyTable {
  /// The futures that have not finished.
  fileprivate var pendingFutures: [AnyFuture] { pendingEdges.flatMap(\.upstreams) }
}
