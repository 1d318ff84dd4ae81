import Foundation

/// An object that cancels many futures at once.
///
/// ```swift
/// let screen = CancellationScope()
/// fetch(url).onSuccess { show($0) }.cancelled(by: screen)
/// // When the screen goes away:
/// screen.cancel()
/// ```
///
/// Scopes nest: cancelling a scope cancels the scopes made from it, but not its parent. A
/// scope keeps neither its futures nor its children alive. Releasing a scope cancels
/// nothing: its futures continue as members of its parent. If you made the scope with
/// `cancelsOnDeinit`, releasing it cancels its futures instead.
public final class CancellationScope: Sendable {
  private struct State {
    var isCancelled = false
    var nextID = 0
    var members: [Int: FutureReference] = [:]
    var children: [Int: WeakScope] = [:]
  }

  private struct WeakScope { weak var scope: CancellationScope? }

  private let state = Lock(State())
  // Sendable: changes only while no other reference to the scope exists.
  private nonisolated(unsafe) var place: (parent: CancellationScope, id: Int)?
  private let cancelsOnDeinit: Bool

  /// Makes a scope.
  ///
  /// - Parameters:
  ///   - parent: A scope whose cancellation also cancels this one. The new scope keeps
  ///     its parent alive.
  ///   - cancelsOnDeinit: Whether releasing the last reference to the scope
  ///     cancels its futures.
  public init(parent: CancellationScope? = nil, cancelsOnDeinit: Bool = false) {
    self.cancelsOnDeinit = cancelsOnDeinit
    place = parent.map { parent in
      (
        parent,
        parent.state.withLock { state in
          state.nextID += 1
          return state.nextID
        }
      )
    }
    guard let place else { return }
    let isTooLate = place.parent.state.withLock { state in
      if !state.isCancelled { state.children[place.id] = WeakScope(scope: self) }
      return state.isCancelled
    }
    if isTooLate { cancel() }
  }

  deinit {
    // A loop, because deeply nested scopes must not be released recursively. The futures
    // that go on join the first scope that remains or cancels them.
    var orphans = cancelsOnDeinit ? [] : members
    var next = leaveParent()
    while var scope = next.take() {
      let isGoing = isKnownUniquelyReferenced(&scope)
      if isGoing, !scope.cancelsOnDeinit, !scope.isCancelled {
        orphans += scope.members
      } else {
        for orphan in orphans { if let future = orphan.future { scope.add(future) } }
        orphans = []
      }
      if isGoing { next = scope.leaveParent() }
    }
    if cancelsOnDeinit { for member in members { member.future?.cancel() } }
  }

  private var members: [FutureReference] { state.withLock { Array($0.members.values) } }

  private func leaveParent() -> CancellationScope? {
    guard let (parent, id) = place else { return nil }
    place = nil
    parent.state.withLock { _ = $0.children.removeValue(forKey: id) }
    return parent
  }

  /// Whether the scope has been cancelled.
  public var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Makes a scope that is cancelled with this one.
  ///
  /// - Parameter cancelsOnDeinit: Whether releasing the last reference to the
  ///   child cancels its futures.
  public func makeChild(cancelsOnDeinit: Bool = false) -> CancellationScope {
    CancellationScope(parent: self, cancelsOnDeinit: cancelsOnDeinit)
  }

  /// Cancels every future in the scope and in its child scopes.
  ///
  /// A future that is added later is cancelled at once.
  public func cancel() {
    var scopes = [self]
    while let scope = scopes.popLast() {
      let (members, children) = scope.state.withLock { state in
        state.isCancelled = true
        defer {
          state.members = [:]
          state.children = [:]
        }
        return (Array(state.members.values), Array(state.children.values))
      }
      for member in members { member.future?.cancel() }
      scopes.append(contentsOf: children.compactMap(\.scope))
    }
  }

  fileprivate func add(_ future: AnyFuture) {
    let reference = future.reference
    let id = state.withLock { state -> Int? in
      guard !state.isCancelled else { return nil }
      state.nextID += 1
      state.members[state.nextID] = reference
      return state.nextID
    }
    guard let id else { return future.cancel() }
    // A future that has settled leaves, so that a long-lived scope does not grow.
    let registration = Registration { [weak self] in self?.remove(id) }
    _ = future.watch { _ in registration.end() }
  }

  fileprivate func remove(_ id: Int) {
    state.withLock { _ = $0.members.removeValue(forKey: id) }
  }
}

extension AnyFuture {
  /// Adds the future to a scope.
  ///
  /// Cancelling the scope cancels the future.
  ///
  /// - Parameter scope: The scope. If it is cancelled already, the future is cancelled at
  ///   once.
  /// - Returns: This future.
  @discardableResult
  public final func cancelled(by scope: CancellationScope) -> Self {
    scope.add(self)
    return self
  }
}
