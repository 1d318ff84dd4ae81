import Foundation
import Futures

/// The contexts in which the tasks of a workflow run, each with its ready tasks and its
/// workers.
///
/// A pool is known by its number. Number 0 is the pool of the workflow's own context; it is
/// never freed. The other numbers are given to the contexts of single tasks:
///
///   unknown context ── a task moves in ──▶ pool ── nothing refers to it ──▶ free number
///                                           ▲                                   │
///                                           └───────── another context ─────────┘
struct Pools {
  /// The tasks that run in one context, and the workers for them.
  struct Pool {
    let context: ContextReference
    var ready = ReadyList()
    /// Workers that the context has not started yet.
    var workersInLine = 0
    /// The context starts an operation inside the call that hands it over, or did so last.
    ///
    /// One worker is enough then, and it must not ask for another from inside itself.
    var isSynchronous: Bool
    /// The context has started a worker outside the call that handed it over.
    var startsElsewhere = false
    /// A check whether a worker is missing is scheduled.
    var isWatched = false
    /// The pool waits in the line of a limit.
    var isWaitingForRoom = false
    /// The number of tasks that run here.
    ///
    /// Not counted in the pool of the workflow itself.
    var taskCount = 0
    /// Workers that exist or are about to be made.
    var workerCount = 0

    init(for context: ContextReference) {
      self.context = context
      isSynchronous = context.isInline
    }

    /// Whether nothing refers to the pool by its number any more.
    var isUnused: Bool {
      taskCount == 0 && workerCount == 0 && ready.isEmpty && !isWatched && !isWaitingForRoom
    }
  }

  private(set) var all: [Pool]
  /// The numbers of the pools, by their contexts.
  ///
  /// Empty until a task has a context of its own.
  private var numbers: [ObjectIdentifier: UInt32] = [:]
  /// The numbers that are free for another context.
  private var freeNumbers: [UInt32] = []

  /// - Parameter context: The context of the workflow itself.
  init(_ context: ContextReference) { all = [Pool(for: context)] }

  subscript(number: Int) -> Pool {
    @inline(__always) get { all[number] }
    @inline(__always) _modify { yield &all[number] }
  }

  /// Returns the pool of a context, in constant time.
  ///
  /// A context that is not an object gets a new pool each time that it is passed.
  mutating func number(of context: ContextReference) -> UInt32 {
    // The pools retain the objects whose addresses identify them.
    if numbers.isEmpty { numbers[all[0].context.poolIdentity] = 0 }
    let identity = context.poolIdentity
    if let number = numbers[identity] { return number }
    let pool = Pool(for: context)
    let number = freeNumbers.popLast() ?? UInt32(all.count)
    if number < all.count { all[Int(number)] = pool } else { all.append(pool) }
    numbers[identity] = number
    return number
  }

  /// Counts a task that leaves a pool for another one.
  ///
  /// - Returns: A context that no task needs any more, to be released after unlock.
  mutating func moveTask(from old: UInt32, to new: UInt32) -> ContextReference? {
    if new > 0 { all[Int(new)].taskCount += 1 }
    guard old > 0 else { return nil }
    all[Int(old)].taskCount -= 1
    return giveUp(Int(old))
  }

  /// Frees the number of a pool that is unused.
  ///
  /// - Returns: The context of the pool, to be released after unlock.
  mutating func giveUp(_ number: Int) -> ContextReference? {
    guard number > 0, all[number].isUnused else { return nil }
    let context = all[number].context
    numbers[context.poolIdentity] = nil
    all[number] = Pool(for: .inline)
    freeNumbers.append(UInt32(number))
    return context
  }

  #if PROPERATIONS_INVARIANTS
    /// What is wrong with the pools, if anything.
    func fault(in graph: borrowing TaskGraph) -> String? {
      if all.contains(where: { $0.workersInLine < 0 }) { return "a worker came twice" }
      var taskCounts = all.map { _ in 0 }
      for node in graph.nodes where node.pool > 0 { taskCounts[Int(node.pool)] += 1 }
      if taskCounts != all.map(\.taskCount) { return "the tasks of pools are counted wrong" }
      if freeNumbers.contains(where: { !all[Int($0)].isUnused }) { return "a free pool is used" }
      return nil
    }
  #endif
}

extension ContextReference {
  /// Identifies the context.
  ///
  /// Tasks with the same identity share a pool.
  fileprivate var poolIdentity: ObjectIdentifier {
    switch self {
    case .inline: ObjectIdentifier(InlineContext.self)
    case .operationQueue(let queue): ObjectIdentifier(queue)
    case .dispatchQueue(let queue):
      MainQueue.isMain(queue)
        ? ObjectIdentifier(MainQueue.self)
        : ObjectIdentifier(Self.globalQueues[queue.label] ?? queue)
    case .custom(let custom):
      type(of: custom.context) is AnyClass
        ? ObjectIdentifier(custom.context as AnyObject) : ObjectIdentifier(custom)
    }
  }

  /// One object for each global queue, by its label.
  ///
  /// On Linux each access to a global queue makes a new object.
  private static let globalQueues: [String: DispatchQueue] = {
    let classes: [DispatchQoS.QoSClass] = [
      .userInteractive, .userInitiated, .default, .utility, .background,
    ]
    let queues = classes.map { DispatchQueue.global(qos: $0) }
    return Dictionary(queues.map { ($0.label, $0) }) { first, _ in first }
  }()

  /// Whether operations start inside the call that hands them over.
  fileprivate var isInline: Bool { if case .inline = self { true } else { false } }
}
