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
    var members: [Int: Member] = [:]
    var children: [ObjectIdentifier: WeakScope] = [:]
  }

  private struct Member: Sendable {
    let reference: FutureReference
    let watcher: Watcher

    func detach() { reference.future?.detach(.callback(watcher), cancelling: false) }
  }

  private struct WeakScope { weak var scope: CancellationScope? }

  private let state = Lock(State())
  // Sendable: changes only while no other reference to the scope exists.
  private nonisolated(unsafe) var parent: CancellationScope?
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
    self.parent = parent
    let isTooLate = parent?.state.withLock { state in
      if !state.isCancelled { state.children[ObjectIdentifier(self)] = WeakScope(scope: self) }
      return state.isCancelled
    }
    if isTooLate == true { cancel() }
  }

  deinit {
    // A loop, because deeply nested scopes must not be released recursively. The futures
    // that go on join the first scope that remains or cancels them.
    let members = takeMembers()
    var orphans = cancelsOnDeinit ? [] : members
    var next = leaveParent()
    while var scope = next.take() {
      let isGoing = isKnownUniquelyReferenced(&scope)
      if isGoing, !scope.cancelsOnDeinit, !scope.isCancelled {
        orphans += scope.takeMembers()
      } else {
        for orphan in orphans { if let future = orphan.reference.future { scope.add(future) } }
        orphans = []
      }
      if isGoing { next = scope.leaveParent() }
    }
    if cancelsOnDeinit { Self.cancel(members.compactMap(\.reference.future)) }
  }

  /// Cancels futures, all of them before an inline handler runs: it may wait for another one.
  private static func cancel(_ futures: [AnyFuture]) {
    WorkLoop.current.perform { loop in
      for future in futures where future.behaviour == nil { future.cancel() }
      // Cancelling a task calls its observers, whose effects must not be held back.
      loop.callOutBeforeInline {
        for future in futures where future.behaviour != nil { future.cancel() }
      }
    }
  }

  /// Lets all futures go.
  ///
  /// A long-lived future would keep a watcher for each of its scopes.
  private func takeMembers() -> [Member] {
    let members = state.withLock { state in
      defer { state.members = [:] }
      return Array(state.members.values)
    }
    for member in members { member.detach() }
    return members
  }

  private func leaveParent() -> CancellationScope? {
    let last = parent.take()
    last?.state.withLock { _ = $0.children.removeValue(forKey: ObjectIdentifier(self)) }
    return last
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
    var futures: [AnyFuture] = []
    while let scope = scopes.popLast() {
      let (members, children) = scope.state.withLock { state in
        state.isCancelled = true
        defer {
          state.members = [:]
          state.children = [:]
        }
        return (Array(state.members.values), Array(state.children.values))
      }
      for member in members {
        member.detach()
        if let future = member.reference.future { futures.append(future) }
      }
      scopes.append(contentsOf: children.compactMap(\.scope))
    }
    Self.cancel(futures)
  }

  fileprivate func add(_ future: AnyFuture) {
    let reference = future.reference
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    // A future that has settled or is released leaves, so that a long-lived scope does not
    // grow.
    let watcher = Watcher(.settled) { [weak self] _ in self?.remove(id) }
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.members[id] = Member(reference: reference, watcher: watcher) }
      return state.isCancelled
    }
    if isCancelled { return future.cancel() }
    if !future.watch(with: watcher) { return remove(id) }
    // The scope may have been cancelled meanwhile, before there was a watcher to detach.
    if state.withLock({ $0.isCancelled }) { future.detach(.callback(watcher), cancelling: false) }
  }

  fileprivate func remove(_ id: Int) {
    let member = state.withLock { $0.members.removeValue(forKey: id) }
    withExtendedLifetime(member) {}
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
