import Foundation
import Synchronization

extension Operation {
  /// Makes the operation wait for a future.
  ///
  /// `operation.addDependency(future)` calls this method. On Linux, Foundation's own
  /// method keeps unowned pointers to the operations that wait. If such an operation is
  /// cancelled or released before the future has settled, the program crashes when the
  /// future settles. Therefore this method adds, on Linux, an operation that represents
  /// the future. That operation is equal to the future, and knows when the waiting
  /// operation is released. It does not keep a promise alive: if the promise is dropped,
  /// the operation no longer waits.
  ///
  /// If the compiler knows the future only as an `Operation`, it calls Foundation's own
  /// method.
  ///
  /// - Parameter future: The future that has to finish first. Adding it twice changes
  ///   nothing.
  /// - Returns: This operation.
  /// - Complexity: O(the number of the operation's dependencies).
  @discardableResult
  public func addDependency(_ future: AnyFuture) -> Self {
    depend(on: future)
    return self
  }

  /// Makes the operation no longer wait for a future.
  ///
  /// If the future was the last dependency that had not finished, the operation becomes
  /// ready.
  ///
  /// If the compiler knows the future only as an `Operation`, it calls Foundation's own
  /// method. On Linux that method does not remove the dependency that this module's
  /// `addDependency(_:)` has added.
  ///
  /// - Parameter future: The future that no longer has to finish first.
  /// - Returns: This operation.
  /// - Complexity: O(the number of the operation's dependencies).
  @discardableResult
  public func removeDependency(_ future: AnyFuture) -> Self {
    dependNoLonger(on: future)
    return self
  }
}

#if !canImport(Darwin)

  extension Operation {
    /// Makes Foundation hold the operation back until a future has finished.
    fileprivate func depend(on future: AnyFuture) {
      // A future has its own table of dependencies.
      if self is AnyFuture { return addDependency(future as Operation) }
      if dependencies.contains(where: { $0.standsFor(future) }) { return }
      let standIn = FutureStandIn(for: future, dependent: self)
      SchedulingPoints.handOff()
      addDependency(standIn as Operation)
      standIn.observe(future)
    }

    fileprivate func dependNoLonger(on future: AnyFuture) {
      // The dependencies of a future are the futures themselves.
      for dependency in self is AnyFuture ? [] : dependencies {
        guard let standIn = dependency as? FutureStandIn, standIn.stands(for: future) else {
          continue
        }
        standIn.finish()
        SchedulingPoints.handOff()
        removeDependency(standIn as Operation)
      }
      removeDependency(future as Operation)
    }

    private func standsFor(_ future: AnyFuture) -> Bool {
      self === future || (self as? FutureStandIn)?.stands(for: future) == true
    }
  }

  /// Represents a future among the dependencies of one operation that is no future.
  ///
  /// It does not own a promise: a dropped promise is broken, and thereby finished.
  ///
  ///   waiting ── the future has finished ──▶ finished, if the operation lives
  ///      └──── the operation is released, and this with it ────▶ released
  private final class FutureStandIn: Operation, FutureEquivalent, @unchecked Sendable {
    // Sendable: `dependent` and `watcher` are written before the object is shared;
    // weak references and watchers are safe on any thread.
    private let id: ObjectIdentifier
    private let edge: Upstream
    private weak var dependent: Operation?
    private var watcher: Watcher?
    private let isOver = Atomic<Bool>(false)

    init(for future: AnyFuture, dependent: Operation) {
      id = ObjectIdentifier(future)
      edge = future.edge
      self.dependent = dependent
      super.init()
      name = future.name
      watcher = Watcher(.finished) { [weak self] _ in self?.finish() }
    }

    deinit {
      guard let watcher else { return }
      edge.future?.detach(.callback(watcher), cancelling: false)
    }

    var represented: AnyFuture? { edge.future }

    func stands(for future: AnyFuture) -> Bool { id == ObjectIdentifier(future) }

    func observe(_ future: AnyFuture) {
      if let watcher, !future.watch(with: watcher) { finish() }
    }

    func finish() {
      // This reference keeps the operation alive while Foundation follows its unowned
      // pointer. If the operation was released, there is nothing to post.
      guard let dependent, !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
      post(.isFinished)
      withExtendedLifetime(dependent) {}
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { false }
    override var isFinished: Bool { unexplored { isOver.load(ordering: .acquiring) } }
    override var isCancelled: Bool {
      unexplored { edge.future?.isCancelled ?? false }
    }
    override func start() {}

    override func isEqual(_ object: Any?) -> Bool {
      guard let other = object as? Operation else { return false }
      return other === self || ObjectIdentifier(other) == id
        || (other as? FutureStandIn)?.id == id
    }
    override var hash: Int { id.hashValue }
    override var description: String {
      "dependency on \(edge.future?.description ?? "a future that is gone")"
    }
  }

#endif
