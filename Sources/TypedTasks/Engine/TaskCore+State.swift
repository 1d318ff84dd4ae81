import Foundation
import Futures

// The state that a task's core keeps under its lock. Most tasks have no dependencies,
// conditions, observers or handlers: the storage for these is made with the first of
// them.

extension TaskCore {
  /// What a plain queue that has the task has done.
  enum ForeignStart {
    case none
    /// The queue starts the task at this moment, and runs it if it is ready then.
    case starting
    /// The queue has started the task. If the task has to wait again, it runs on another
    /// thread later.
    case started
  }

  struct State {
    #if PROPERATIONS_INVARIANTS
      var machine = TaskStateMachine() { didSet { machine.check() } }
    #else
      var machine = TaskStateMachine()
    #endif
    var conclusion = Conclusion.none
    var isForeign = false
    var foreignStart = ForeignStart.none
    /// Whether readers of `isReady` are told when the dependencies have finished, on
    /// platforms where nothing tells who reads it.
    var announcesDependencies = false
    var isImplicit = false
    /// Whether the user has made the task a member of a group.
    var isMember = false
    /// Whether the task came into the queue of a group that had ended, and so is no member.
    var isRefusedByGroup = false
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
    /// Whether the task is a member of a group that has not begun.
    var awaitsGroup = false
    /// The number of the group in whose queue the task is or was; zero if there is none.
    var groupNumber: UInt32 = 0
    /// The number of the epoch that the task enters in the queue of its group.
    var groupEpoch: Int32 = 0
    /// Whether one source that succeeds is enough.
    var isRace = false
    var home: TaskQueue?
    /// The plain queue that the task was added to, if the library knows it.
    weak var foreignQueue: OperationQueue?
    /// The queue of the group that the task is a member of, until the group begins.
    var groupQueue: TaskQueue?
    var slot: BatchOperation?
    var receiver = ContextReference.inline
    /// The rarely used part: for reading, and for removing what is in it.
    private(set) var extras: Extras?

    /// The rarely used part, which is made if it is not there yet: for writing.
    var more: Extras {
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
      guard let extras else { return [] }
      defer {
        extras.sources = []
        extras.winner = nil
      }
      return extras.sources + (extras.winner.map { [$0] } ?? [])
    }

    /// Removes and returns the handlers, and then the assignments.
    mutating func takeHandlers() -> [Handler] {
      guard let extras else { return [] }
      defer {
        extras.handlers = []
        extras.assignments = []
      }
      return extras.handlers + extras.assignments
    }

    /// Removes and returns the handlers, and where those without a context run; without
    /// handlers ends the conclusion and returns `nil`.
    mutating func takeHandlersOrEnd() -> (handlers: [Handler], receiver: ContextReference)? {
      let handlers = takeHandlers()
      if handlers.isEmpty { conclusion = .done }
      return handlers.isEmpty ? nil : (handlers, receiver)
    }

    /// Removes and returns the observers and the cancellation handlers.
    ///
    /// They are released after unlock.
    mutating func takeListeners() -> ([any TaskObserver], [@Sendable () -> Void]) {
      guard let extras else { return ([], []) }
      defer {
        extras.observers = []
        extras.cancellationHandlers = []
      }
      return (extras.observers, extras.cancellationHandlers)
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
        extras?.claim = nil
      }
      return Place(home: home, slot: slot, claim: extras?.claim, isOver: true)
    }
  }

  /// The rarely used part of the state; guarded by the same lock.
  final class Extras {
    var dependencies = DependencyList()
    /// The waits for dependencies, by the operation that the task waits for.
    var dependencyWaits: [ObjectIdentifier: TaskCore.Wait] = [:]
    /// All other waits.
    var waits: [TaskCore.Wait] = []
    var conditions: [AnyCondition] = []
    var observers: [any TaskObserver] = []
    var handlers: [TaskCore.Handler] = []
    var assignments: [TaskCore.Handler] = []
    var cancellationHandlers: [@Sendable () -> Void] = []
    /// How many hand-overs of handlers to a context have not ended.
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
