import Foundation

/// The operations that a future depends on: part of its state.
///
/// Foundation's own bookkeeping is not used for them. On Linux an operation that loses an
/// unfinished dependency never becomes ready again, and an operation that is released
/// before its dependency leaves a dangling pointer. Instead, a future that is a
/// dependency has an entry in its list of waiters. Any other operation has an
/// `OperationObserver`.
struct DependencyTable {
  /// An edge to one operation.
  struct Entry {
    /// A running number, in the order in which the dependencies were added.
    let number: Int
    /// The edge; `nil` after the operation has finished.
    var edge: DependencyEdge?
    /// The operation, unless it is a future.
    let operation: Operation?
    /// The edge to the future, if the operation is one.
    ///
    /// It does not own a promise.
    let future: Upstream
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  private var nextNumber = 0
  private(set) var pendingCount = 0
  /// The continuation that is held until all dependencies have finished.
  private var held: (continuation: Continuation, context: ContextReference)?

  var isSatisfied: Bool { pendingCount == 0 }
  var count: Int { entries.count }

  /// The operations that still exist, in the order in which they were added.
  var operations: [Operation] {
    entries.values.sorted { $0.number < $1.number }
      .compactMap { $0.operation ?? $0.future.future }
  }

  /// The edges to the operations that have not finished.
  var pendingEdges: [DependencyEdge] {
    pendingCount == 0 ? [] : entries.values.compactMap(\.edge)
  }

  /// Whether the operation behind an edge has not finished.
  func isPending(_ edge: DependencyEdge) -> Bool { entries[edge.id]?.edge === edge }

  /// The operations, other than futures, that have not finished.
  var pendingOperations: [Operation] {
    pendingCount == 0 ? [] : entries.values.compactMap { $0.edge == nil ? nil : $0.operation }
  }

  /// Adds an edge.
  ///
  /// Returns `false` if there is an edge to this operation already.
  mutating func add(_ edge: DependencyEdge, to operation: Operation) -> Bool {
    guard entries[edge.id] == nil else { return false }
    nextNumber += 1
    pendingCount += 1
    let future = operation as? AnyFuture
    entries[edge.id] = Entry(
      number: nextNumber, edge: edge, operation: future == nil ? operation : nil,
      future: edge.first)
    return true
  }

  /// Records that the operation behind an edge has finished.
  ///
  /// - Returns: The edge, if the future still waited for it, and the held continuation,
  ///   if the edge was the last one.
  mutating func finished(_ edge: DependencyEdge) -> Step {
    guard isPending(edge) else { return Step() }
    entries[edge.id]?.edge = nil
    pendingCount -= 1
    return step(edge)
  }

  /// Removes a dependency.
  mutating func remove(_ id: ObjectIdentifier) -> Step {
    guard let entry = entries.removeValue(forKey: id) else {
      return Step()
    }
    guard let edge = entry.edge else { return Step(removed: [entry]) }
    pendingCount -= 1
    var step = step(edge)
    step.removed = [entry]
    return step
  }

  private mutating func step(_ edge: DependencyEdge) -> Step {
    Step(edge: edge, isSatisfied: pendingCount == 0, held: pendingCount == 0 ? held.take() : nil)
  }

  /// Holds a continuation until all dependencies have finished.
  ///
  /// Returns `false` if they have.
  mutating func hold(_ continuation: Continuation, on context: ContextReference) -> Bool {
    guard pendingCount > 0 else { return false }
    held = (continuation, context)
    return true
  }

  /// Removes all dependencies, and the held continuation.
  mutating func clear() -> Step {
    defer { self = DependencyTable() }
    return Step(removed: Array(entries.values), dropped: held)
  }

  /// The effects of a change.
  ///
  /// Its contents are released after unlock.
  struct Step {
    var edge: DependencyEdge?
    /// Whether no dependency is pending.
    var isSatisfied = false
    var held: (continuation: Continuation, context: ContextReference)?
    var removed: [Entry] = []
    /// A continuation that will not run.
    var dropped: (continuation: Continuation, context: ContextReference)?
  }
}

/// An edge from a future to an operation that it depends on.
final class DependencyEdge: InputWaiter, @unchecked Sendable {
  // Sendable: nothing changes after init.
  let id: ObjectIdentifier
  /// The edge to the future that the edge first waits for, if the operation is a future.
  let first: Upstream
  private let dependent: FutureReference
  private let observer: OperationObserver?

  init(from dependent: FutureReference, to operation: Operation) {
    id = Self.id(of: operation)
    self.dependent = dependent
    if let future = operation as? AnyFuture {
      first = future.edge
      observer = nil
    } else {
      first = .none
      observer = OperationObserver(of: operation)
    }
    super.init(edge: first)
  }

  /// The identity of an operation: that of the object that the edge keeps.
  ///
  /// A new operation may have the address of a promise that was released.
  static func id(of operation: Operation) -> ObjectIdentifier {
    if let future = operation as? AnyFuture, case .reference(let reference) = future.edge {
      return ObjectIdentifier(reference)
    }
    return ObjectIdentifier(operation)
  }

  /// Starts waiting.
  func start(for operation: Operation) {
    if let future = operation as? AnyFuture {
      future.attach(.callback(self), isConsumer: false)
    } else {
      observer?.start { [weak self] in self?.finished() }
    }
  }

  /// Stops waiting.
  override func withdraw(cancelling: Bool) {
    observer?.stop()
    future?.detach(.callback(self), cancelling: false)
  }

  private func finished() { dependent.future?.dependencyHasFinished(self) }

  override func deliver(_ source: AnyFuture) { finished() }
  override var isConsumer: Bool { false }
  override var waitsForFinish: Bool { true }
  // An observer has settled and waits all the same, until its handler has run.
  override var isDone: Bool {
    dependent.future?.storage.withDependencies { $0.isPending(self) } != true
  }
  override var downstreams: [AnyFuture] { dependent.future.map { [$0] } ?? [] }
}

extension AnyFuture {
  /// Whether the future depends, or ever depended, on operations.
  @inline(__always)
  final var hasDependencies: Bool {
    uses.load(ordering: .acquiring) & Self.hasDependencies != 0
  }

  final func addEdge(to operation: Operation) {
    let edge = DependencyEdge(from: reference, to: operation)
    uses.bitwiseOr(Self.hasDependencies, ordering: .releasing)
    guard storage.changeDependencies({ $0.add(edge, to: operation) }) else { return }
    updatePlaceholder()
    edge.start(for: operation)
    // Another thread may have removed the dependency before the edge started.
    if storage.withDependencies({ $0.isPending(edge) }) != true {
      edge.withdraw(cancelling: false)
    }
    // The future may have finished meanwhile, and have forgotten this edge before the
    // edge started. An observer that has finished keeps its other dependencies until its
    // handler has run.
    if isFinished {
      edge.withdraw(cancelling: false)
      return removeEdge(to: operation)
    }
    // The edge is in the graph already. So if two threads close a cycle, at least one of
    // them finds it.
    if let other = operation as? AnyFuture, !isSettled, Graph.closesCycle(self, waitingFor: other) {
      settle(failure: ProperationsError.cycle(createdAt: createdAt))
      // The queue that holds the future must not wait for the dependency: that waits for the
      // future to finish.
      removeEdge(to: operation)
    }
  }

  final func dependencyHasFinished(_ edge: DependencyEdge) {
    goOn(after: storage.changeDependencies { $0.finished(edge) })
  }

  final func removeEdge(to operation: Operation) {
    guard hasDependencies else { return }
    // Asks the operation, under a lock of its own.
    let id = DependencyEdge.id(of: operation)
    let step = storage.changeDependencies { $0.remove(id) }
    step.edge?.withdraw(cancelling: false)
    goOn(after: step)
  }

  final func forgetDependencies() {
    let step = storage.changeDependencies { $0.clear() }
    for entry in step.removed { entry.edge?.withdraw(cancelling: false) }
    // Releasing may run the `deinit` of a user's object.
    WorkLoop.current.discard(step)
  }

  private final func goOn(after step: DependencyTable.Step) {
    guard step.isSatisfied else { return }
    if let (continuation, context) = step.held {
      WorkLoop.current.handOffLater(continuation, to: context)
    }
    guard !isFinished else { return }
    if storage.placeholder != nil { updatePlaceholder() }
    // A second queue may hold the future itself.
    postReadiness()
  }

  /// Tells the future's placeholder whether dependencies are pending.
  final func updatePlaceholder() {
    guard let placeholder = storage.placeholder else { return }
    while true {
      let isBlocked = storage.hasPendingDependencies
      placeholder.setBlocked(isBlocked)
      // Another thread may have changed the dependencies meanwhile.
      if storage.hasPendingDependencies == isBlocked { return }
    }
  }

  /// Holds a continuation until the dependencies have finished.
  ///
  /// Returns `false` if they have.
  @inline(__always)
  final func holdForDependencies(
    _ continuation: Continuation, on context: ContextReference
  ) -> Bool {
    hasDependencies && storage.changeDependencies { $0.hold(continuation, on: context) }
  }
}
