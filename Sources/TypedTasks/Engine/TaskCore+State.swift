import Foundation
import Futures

// What a task's core keeps under its lock. Most tasks have no dependencies,
// conditions, observers or handlers: what these need is made with the first of
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
    /// Whether the end of its dependencies is announced to readers of `isReady`, where
    /// nothing tells who that is.
    var announcesDependencies = false
    var isImplicit = false
    /// Whether the user has made the task a member of a group.
    var isMember = false
    /// Whether `willEnqueue()` is running: conditions may still come.
    var isPreparing = false
    /// Whether the dependencies that the task was enqueued with are counted as blockers:
    /// one that comes later is waited for by itself.
    var areDependenciesCounted = false
    /// How many of its sources an operator still waits for.
    var openSources: Int32 = 0
    /// The thread that concludes.
    var concluder: ObjectIdentifier?
    var home: TaskQueue?
    /// The queue of a group that the task is a member of and that has not begun.
    var lobby: TaskQueue?
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

    /// Whether nobody is to be told of the end.
    var isQuiet: Bool {
      guard let extras else { return true }
      return extras.handlers.isEmpty && extras.assignments.isEmpty && extras.observers.isEmpty
        && extras.cancellationHandlers.isEmpty
    }

    /// Hands out the waits that have not ended.
    mutating func takeWaits() -> [TaskCore.Wait] {
      guard let extras else { return [] }
      defer {
        extras.waits = []
        extras.dependencyWaits = [:]
      }
      return extras.waits + extras.dependencyWaits.values
    }

    /// The task has concluded: hands out its queue, and what it gives back now.
    mutating func conclude() -> Place {
      machine.conclude() ? giveBack() : Place(home: home)
    }

    /// All is over: hands out what the task has held.
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

    /// The waits for dependencies, by what they wait for.
    var dependencyWaits: [ObjectIdentifier: TaskCore.Wait] {
      get { extras?.dependencyWaits ?? [:] }
      _modify { yield &more.dependencyWaits }
      set { if extras != nil || !newValue.isEmpty { more.dependencyWaits = newValue } }
    }

    /// The waits for all else.
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

    /// How many times handlers were handed over to a context and have not run.
    var handedOver: Int {
      get { extras?.handedOver ?? 0 }
      set { if extras != nil || newValue != 0 { more.handedOver = newValue } }
    }

    var handedOverToMain: Int {
      get { extras?.handedOverToMain ?? 0 }
      set { if extras != nil || newValue != 0 { more.handedOverToMain = newValue } }
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

    var endsEarly: ((AnyFuture) -> Bool)? {
      get { extras?.endsEarly }
      set { if extras != nil || newValue != nil { more.endsEarly = newValue } }
    }

    var onEnqueue: ((AnyFuture) -> Void)? {
      get { extras?.onEnqueue }
      set { if extras != nil || newValue != nil { more.onEnqueue = newValue } }
    }
  }

  /// The rare part of the state; guarded by the same lock.
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
    var handedOverToMain = 0
    /// What the library does when all handlers have run.
    var afterwards: [@Sendable () -> Void] = []
    /// What is upstream beside the engine's one: a consumer's producer, the
    /// members of a zip.
    var sources: [AnyFuture] = []
    var check: ConditionCheck?
    var claim: CategoryClaim?
    /// Whether one source that has settled is enough.
    var endsEarly: ((AnyFuture) -> Bool)?
    /// What an operator does when it is put in a queue.
    var onEnqueue: ((AnyFuture) -> Void)?
  }
}
