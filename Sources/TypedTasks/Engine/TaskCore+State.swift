import Foundation
import Futures

// The state that a task's core keeps under its lock. Most tasks have no dependencies,
// conditions, observers or handlers: the storage for these is made with the first of
// them.

extension TaskCore {
  struct State {
    #if PROPERATIONS_INVARIANTS
      var machine = TaskStateMachine() { didSet { machine.check() } }
    #else
      var machine = TaskStateMachine()
    #endif
    var conclusion = Conclusion.none
    var isForeign = false
    var isStartedByForeignQueue = false
    /// Whether readers of `isReady` are told when the dependencies have finished, on
    /// platforms where nothing tells who reads it.
    var announcesDependencies = false
    var isImplicit = false
    /// Whether the user has made the task a member of a group.
    var isMember = false
    /// Whether `willEnqueue()` is running: conditions may still be added.
    var isPreparing = false
    /// Whether the dependencies that the task was enqueued with are counted as blockers.
    ///
    /// A dependency that is added later starts its own wait.
    var areDependenciesCounted = false
    /// Whether the task will look whether it has to give its slot back.
    var isSlotWatched = false
    /// How many sources an operator still waits for.
    var openSources: Int32 = 0
    /// Whether one source that succeeds is enough.
    var isRace = false
    var home: TaskQueue?
    /// The plain queue that the task was added to, if the library knows it.
    weak var foreignQueue: OperationQueue?
    /// The queue of the group that the task is a member of, until the group begins.
    var groupQueue: TaskQueue?
    var slot: BatchOperation?
    var receiver = ContextReference.inline
    private(set) var extras: Extras?

    private var more: Extras {
      mutating get {
        if let extras { return extras }
        let made = Extras()
        extras = made
        return made
      }
    }

    /// Whether the task has no handler, assignment or observer to call at its end.
    var isQuiet: Bool {
      guard let extras else { return true }
      return extras.handlers.isEmpty && extras.assignments.isEmpty && extras.observers.isEmpty
        && extras.cancellationHandlers.isEmpty
    }

    /// Removes and returns the waits that have not ended.
    mutating func takeWaits() -> [TaskCore.Wait] {
      guard let extras else { return [] }
      defer {
        extras.waits = []
        extras.dependencyWaits = [:]
      }
      return extras.waits + extras.dependencyWaits.values
    }

    /// Removes and returns the upstreams beside the engine's one, and the one that has won.
    ///
    /// They are released after unlock.
    mutating func takeSources() -> [AnyFuture] {
      defer {
        sources = []
        winner = nil
      }
      return sources + (winner.map { [$0] } ?? [])
    }

    /// Notes the conclusion; returns the queue, and the resources if the work has
    /// returned.
    mutating func conclude() -> Place {
      machine.conclude() ? giveBack() : Place(home: home)
    }

    /// Removes and returns everything that the task holds.
    mutating func giveBack() -> Place {
      defer {
        home = nil
        slot = nil
        claim = nil
      }
      return Place(home: home, slot: slot, claim: claim, isOver: true)
    }

    var dependencies: DependencyList {
      get { extras?.dependencies ?? DependencyList() }
      _modify { yield &more.dependencies }
      set { if extras != nil || !newValue.isEmpty { more.dependencies = newValue } }
    }

    /// The waits for dependencies, by the operation that the task waits for.
    var dependencyWaits: [ObjectIdentifier: TaskCore.Wait] {
      get { extras?.dependencyWaits ?? [:] }
      _modify { yield &more.dependencyWaits }
      set { if extras != nil || !newValue.isEmpty { more.dependencyWaits = newValue } }
    }

    /// All other waits.
    var waits: [TaskCore.Wait] {
      get { extras?.waits ?? [] }
      _modify { yield &more.waits }
      set { if extras != nil || !newValue.isEmpty { more.waits = newValue } }
    }

    var conditions: [AnyCondition] {
      get { extras?.conditions ?? [] }
      _modify { yield &more.conditions }
      set { if extras != nil || !newValue.isEmpty { more.conditions = newValue } }
    }

    var observers: [any TaskObserver] {
      get { extras?.observers ?? [] }
      _modify { yield &more.observers }
      set { if extras != nil || !newValue.isEmpty { more.observers = newValue } }
    }

    var handlers: [TaskCore.Handler] {
      get { extras?.handlers ?? [] }
      _modify { yield &more.handlers }
      set { if extras != nil || !newValue.isEmpty { more.handlers = newValue } }
    }

    var assignments: [TaskCore.Handler] {
      get { extras?.assignments ?? [] }
      _modify { yield &more.assignments }
      set { if extras != nil || !newValue.isEmpty { more.assignments = newValue } }
    }

    var cancellationHandlers: [@Sendable () -> Void] {
      get { extras?.cancellationHandlers ?? [] }
      _modify { yield &more.cancellationHandlers }
      set { if extras != nil || !newValue.isEmpty { more.cancellationHandlers = newValue } }
    }

    /// How many hand-overs of handlers to a context have not ended.
    var handedOver: Int {
      get { extras?.handedOver ?? 0 }
      set { if extras != nil || newValue != 0 { more.handedOver = newValue } }
    }

    var queuesOfHandlers: [OperationQueue] {
      get { extras?.queuesOfHandlers ?? [] }
      set { if extras != nil || !newValue.isEmpty { more.queuesOfHandlers = newValue } }
    }

    var afterwards: [@Sendable () -> Void] {
      get { extras?.afterwards ?? [] }
      _modify { yield &more.afterwards }
      set { if extras != nil || !newValue.isEmpty { more.afterwards = newValue } }
    }

    var sources: [AnyFuture] {
      get { extras?.sources ?? [] }
      _modify { yield &more.sources }
      set { if extras != nil || !newValue.isEmpty { more.sources = newValue } }
    }

    var check: ConditionCheck? {
      get { extras?.check }
      set { if extras != nil || newValue != nil { more.check = newValue } }
    }

    var claim: CategoryClaim? {
      get { extras?.claim }
      set { if extras != nil || newValue != nil { more.claim = newValue } }
    }

    var winner: AnyFuture? {
      get { extras?.winner }
      set { if extras != nil || newValue != nil { more.winner = newValue } }
    }

    var onEnqueue: ((AnyFuture) -> Void)? {
      get { extras?.onEnqueue }
      set { if extras != nil || newValue != nil { more.onEnqueue = newValue } }
    }
  }

  /// The rarely used part of the state; guarded by the same lock.
  final class Extras {
    var dependencies = DependencyList()
    var dependencyWaits: [ObjectIdentifier: TaskCore.Wait] = [:]
    var waits: [TaskCore.Wait] = []
    var conditions: [AnyCondition] = []
    var observers: [any TaskObserver] = []
    var handlers: [TaskCore.Handler] = []
    var assignments: [TaskCore.Handler] = []
    var cancellationHandlers: [@Sendable () -> Void] = []
    var handedOver = 0
    var queuesOfHandlers: [OperationQueue] = []
    /// Closures of the library that run after all handlers.
    var afterwards: [@Sendable () -> Void] = []
    /// The upstreams beside the engine's one: a consumer's producer, the members of a
    /// zip.
    var sources: [AnyFuture] = []
    var check: ConditionCheck?
    var claim: CategoryClaim?
    /// The source that was enough.
    var winner: AnyFuture?
    /// Runs when an operator is put in a queue.
    var onEnqueue: ((AnyFuture) -> Void)?
  }
}
