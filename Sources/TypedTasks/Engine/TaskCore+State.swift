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
    var isImplicit = false
    /// Whether nothing that it waits for can wait for it (`WaitGraph`).
    var isClosed = false
    /// How many of its sources an operator still waits for.
    var openSources: Int32 = 0
    var forwardEdges = 0
    /// The thread that concludes.
    var concluder: ObjectIdentifier?
    var home: TaskQueue?
    /// The queue of a group that the task is a member of and that has not begun.
    var lobby: TaskQueue?
    var slot: Slot?
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
        && extras.cancellationHandlers.isEmpty && extras.afterwards.isEmpty
    }

    /// Hands out what the task is in.
    mutating func takePlace() -> Place {
      defer {
        home = nil
        slot = nil
      }
      return Place(home: home, slot: slot)
    }

    /// Hands out the edges that are counted for the task.
    mutating func takeEdges() -> WaitGraph.Count {
      defer {
        forwardEdges = 0
        lateEdges = 0
      }
      return WaitGraph.Count(forward: forwardEdges, late: lateEdges)
    }

    /// How many dependencies it has got since it was enqueued.
    var lateEdges: Int {
      get { extras?.lateEdges ?? 0 }
      set { if extras != nil || newValue != 0 { more.lateEdges = newValue } }
    }

    var dependencies: [Operation] {
      get { extras?.dependencies ?? [] }
      _modify { yield &more.dependencies }
      set {
        guard extras != nil || !newValue.isEmpty else { return }
        more.dependencies = newValue
        more.dependencySet = nil
      }
    }

    /// Adds a dependency; `false` if it is there already.
    ///
    /// Few are looked through, many have a set.
    mutating func addDependency(_ operation: Operation) -> Bool {
      let extras = more
      let id = ObjectIdentifier(operation)
      if extras.dependencies.count < 16 {
        if extras.dependencies.contains(where: { $0 === operation }) { return false }
      } else {
        if extras.dependencySet == nil {
          extras.dependencySet = Set(extras.dependencies.map(ObjectIdentifier.init))
        }
        guard extras.dependencySet?.insert(id).inserted == true else { return false }
      }
      extras.dependencies.append(operation)
      return true
    }

    mutating func removeDependency(at index: Int) -> Operation {
      let removed = more.dependencies.remove(at: index)
      more.dependencySet = nil
      return removed
    }

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

    var ticket: CategoryTicket? {
      get { extras?.ticket }
      set { if extras != nil || newValue != nil { more.ticket = newValue } }
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
    var dependencies: [Operation] = []
    /// The same as a set, once they are many.
    var dependencySet: Set<ObjectIdentifier>?
    var lateEdges = 0
    var waits: [TaskCore.Wait] = []
    var conditions: [AnyCondition] = []
    var observers: [any TaskObserver] = []
    var handlers: [TaskCore.Handler] = []
    var assignments: [TaskCore.Handler] = []
    var cancellationHandlers: [@Sendable () -> Void] = []
    /// What the library does when the handlers have run.
    var afterwards: [@Sendable () -> Void] = []
    /// What is upstream beside the engine's one: a consumer's producer, the
    /// members of a zip.
    var sources: [AnyFuture] = []
    var check: ConditionCheck?
    var ticket: CategoryTicket?
    /// Whether one source that has settled is enough.
    var endsEarly: ((AnyFuture) -> Bool)?
    /// What an operator does when it is put in a queue.
    var onEnqueue: ((AnyFuture) -> Void)?
  }
}
