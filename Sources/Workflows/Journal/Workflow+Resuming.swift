import Foundation
import Futures

extension Workflow {
  /// Restores the results in a journal, and records new results in it from then on.
  ///
  /// Call it after all tasks are added and before the first of them runs. Tasks whose
  /// results are in the journal are then finished, without a call of hooks, delegates or
  /// observers. No task is started: call ``start(fileID:line:)`` or ``run()`` afterwards. If the
  /// recorded run had ended successfully, the workflow has finished; to run everything
  /// again, remove the file or ``reset()`` the workflow.
  ///
  /// A recorded task is restored if all recorded tasks that it depends on are restored, including
  /// those in workflows inside or around. No result is therefore restored that was made from a
  /// result that will be made again. If a part of the file is damaged, the tasks recorded there
  /// and their dependents run again; the returned value names those whose names can still be
  /// read. A file whose end is cut is the journal as it was at an earlier time. Tasks that are
  /// not recorded always run again, except inside a restored ``SubworkflowTask``, which does not
  /// start its workflow.
  ///
  /// The journal and the workflow must fit: every recorded task must be in the workflow,
  /// with its recorded version, type of result and recorded prerequisites. These are the
  /// nearest recorded tasks that it depends on, directly or through tasks that are not
  /// recorded.
  ///
  /// Before the call returns, the file is repaired and invalid records are removed.
  ///
  /// - Parameters:
  ///   - journal: The file. It is created if it does not exist.
  ///   - policy: What to do if journal and workflow do not fit.
  /// - Returns: Which tasks were restored, and which were not.
  /// - Throws: A ``WorkflowJournalError``, for example
  ///   ``WorkflowJournalError/mismatch(_:)``, which names the tasks, or
  ///   ``WorkflowJournalError/inUse(_:)``. Neither the workflow nor a result in the file
  ///   is then changed, and the file is closed. Only if another thread adds a task during the
  ///   call, records that do not fit may be gone.
  /// - Complexity: O(the size of the file + tasks + edges), and for each recorded task the
  ///   edges among the unrecorded tasks between it and the nearest recorded ones, and the
  ///   workflows around it: with *n* workflows in one another, *n*² / 2 in all.
  @discardableResult
  public func resume(
    from journal: WorkflowJournal, onMismatch policy: WorkflowJournal.MismatchPolicy = .fail
  ) throws -> WorkflowResumption {
    try resume(from: journal, onMismatch: policy, device: .system)
  }

  /// Restores the results in a storage of your own, and records new results in it from then
  /// on.
  ///
  /// The same as ``resume(from:onMismatch:)-(WorkflowJournal,_)``, with records that are in a
  /// database, for example. The storage repairs itself; the returned value names no damage.
  ///
  /// - Parameters:
  ///   - storage: The storage. The workflow uses it until it is released or
  ///     ``closeJournal()`` is called.
  ///   - policy: What to do if records and workflow do not fit.
  /// - Returns: Which tasks were restored, and which were not.
  /// - Throws: A ``WorkflowJournalError``, for example
  ///   ``WorkflowJournalError/unusableStorage(_:reason:)`` if the storage throws. Neither the
  ///   workflow nor a record is then changed, and the storage is closed. Only if a task is
  ///   added during the call, records that do not fit may be gone.
  /// - Complexity: O(the number of records + tasks + edges).
  @discardableResult
  public func resume(
    from storage: some WorkflowJournalStorage,
    onMismatch policy: WorkflowJournal.MismatchPolicy = .fail
  ) throws -> WorkflowResumption {
    let tree = try JournaledTree(of: self)
    func use<Value>(_ body: () throws -> Value) throws(WorkflowJournalError) -> Value {
      do { return try body() } catch {
        throw .unusableStorage(storage.name, reason: shortText(of: error))
      }
    }
    let contents = JournalContents(try use { try storage.open() })
    // The storage is closed with the last reference to this, also if an error is thrown.
    let backend = StorageBackend(storage, lastNumber: contents.end.lastNumber)
    let match = try JournalMatch(contents, tree, policy)
    let invalid = contents.entries.keys.filter { match.results[$0] == nil }.sorted()
    if !invalid.isEmpty {
      try use { try storage.write(invalid.map { .forget(identifier: $0) }) }
    }
    try record(in: backend, match, tree)
    return match.resumption
  }

  /// Stops recording, and lets other workflows use the journal.
  ///
  /// Returns when all pending records are written. If the record of a task that was reset could
  /// not be removed before, its removal is tried once more. Tasks whose results are being
  /// encoded at this moment fail. Later results are not recorded, and later resets do not
  /// change the file. Nothing happens if the workflow was not resumed from a journal.
  ///
  /// A released workflow closes its journal by itself. Threads that have run its tasks
  /// may keep the workflow for a moment after its end. Call this before you resume
  /// another workflow of the same process from the journal.
  public func closeJournal() { core.closeJournal() }

  /// - Parameter device: The system calls to use; tests pass other ones.
  @discardableResult
  func resume(
    from journal: WorkflowJournal, onMismatch policy: WorkflowJournal.MismatchPolicy = .fail,
    device: JournalDevice
  ) throws(WorkflowJournalError) -> WorkflowResumption {
    let tree = try JournaledTree(of: self)
    var file = try JournalFile.open(journal.url, device: device)
    let contents = try JournalContents(of: file)
    var match = try JournalMatch(contents, tree, policy)
    var end = contents.end
    var sizes = contents.entries.mapValues(\.size)
    if !match.fits(contents) {
      if contents.end.runsOutOfNumbers { match.renumber() }
      let bytes: [UInt8]
      (bytes, end, sizes) = match.rewritten(salt: .random(in: 0...UInt64.max))
      file = try file.replaced(with: bytes)
    }
    try record(in: FileBackend(file, end, sizes: sizes), match, tree)
    return match.resumption
  }

  /// Restores results, and records from now on.
  private func record(
    in backend: some JournalBackend, _ match: JournalMatch, _ tree: JournaledTree
  ) throws(WorkflowJournalError) {
    let writer = JournalWriter(backend, recorded: match.results.mapValues { $0.task })
    // After a failure nothing refers to the writer any more, and the journal is closed with it.
    guard tree.restore(match.results, writer) else {
      throw .alreadyBegun(workflow: name)
    }
  }
}

extension JournalContents {
  fileprivate init(of file: JournalFile) throws(WorkflowJournalError) {
    let bytes = try file.read()
    do { self = try JournalContents(bytes) } catch {
      switch error {
      case .notAJournal: throw .notAJournal(file.url)
      case .newerFormat(let format): throw .newerFormat(file.url, format: format)
      }
    }
  }
}

// MARK: - The tasks

/// The tasks of a workflow and of the workflows inside it, as one graph.
///
/// A task that runs a workflow has two nodes. The first is an entry: it depends on the
/// task's prerequisites, and all inner tasks depend on it. The second is the task itself,
/// which depends on all inner tasks.
struct JournaledTree {
  struct Node {
    /// The task; `nil` for an entry.
    let task: AnyWorkflowTask?
    let coding: (any JournaledResult)?
    var prerequisites: [Int]
    /// The identifiers of the recorded prerequisites.
    var recordedPrerequisites: Set<String> = []
  }

  /// A workflow, as it was when its tasks were read.
  struct Core {
    let core: WorkflowCore
    let tasks: [AnyWorkflowTask]
    let codings: [TaskIndex: any JournaledResult]
    let edgeCount: Int
  }

  /// The name of the outermost workflow.
  let name: String
  private(set) var nodes: [Node] = []
  private(set) var cores: [Core] = []
  /// The nodes of recorded tasks, by identifier.
  private(set) var places: [String: Int] = [:]
  /// The identifiers of the nearest recorded tasks before each recorded task.
  private(set) var nearestRecorded: [String: Set<String>] = [:]

  /// No recursion: workflows may be nested deeply.
  init(of workflow: Workflow) throws(WorkflowJournalError) {
    name = workflow.name
    var next: [(workflow: Workflow, entry: Int?, outer: Int?)] = [(workflow, nil, nil)]
    while let (workflow, entry, outer) = next.popLast() {
      guard let (tasks, prerequisites, edgeCount) = workflow.core.freshTasks else {
        throw .alreadyBegun(workflow: workflow.name)
      }
      let codings = WorkflowCore.codings(of: tasks)
      cores.append(
        Core(core: workflow.core, tasks: tasks, codings: codings, edgeCount: edgeCount))
      let first = nodes.count
      for (i, task) in tasks.enumerated() {
        let before = prerequisites[i].map { Int($0) }
        nodes.append(
          Node(
            task: task, coding: codings[TaskIndex(i)],
            prerequisites: before.map { first + $0 } + (entry.map { [$0] } ?? []),
            recordedPrerequisites: Set(
              before.compactMap { codings[TaskIndex($0)]?.identifier })))
        if let outer { nodes[outer].prerequisites.append(first + i) }
        guard let coding = codings[TaskIndex(i)] else { continue }
        guard places.updateValue(first + i, forKey: coding.identifier) == nil else {
          throw .duplicateIdentifier(coding.identifier)
        }
      }
      for (i, task) in tasks.enumerated() {
        guard let inner = task.nesting?.inner else { continue }
        nodes.append(Node(task: nil, coding: nil, prerequisites: nodes[first + i].prerequisites))
        nodes[first + i].prerequisites.append(nodes.count - 1)
        next.append((inner, nodes.count - 1, first + i))
      }
    }
    nearestRecorded = findNearestRecorded()
  }

  /// The nodes, prerequisites first.
  var order: [Int] { prerequisitesFirst(nodes.map(\.prerequisites)) }

  /// Finds the nearest recorded tasks before each recorded task.
  private func findNearestRecorded() -> [String: Set<String>] {
    let codings = Dictionary(
      uniqueKeysWithValues: cores.map { (ObjectIdentifier($0.core), $0.codings) })
    var found: [String: Set<String>] = [:]
    for core in cores {
      core.core.read { _ in
        for (task, coding) in core.codings {
          var before: Set<String> = []
          core.core.forEachRecorded(before: task) { core, task in
            guard let coding = codings[ObjectIdentifier(core)]?[task] else { return false }
            before.insert(coding.identifier)
            return true
          }
          found[coding.identifier] = before
        }
      }
    }
    return found
  }
}

extension WorkflowCore {
  /// The tasks of a workflow that is still fresh, their prerequisites and the number of
  /// edges; otherwise `nil`.
  fileprivate var freshTasks: ([AnyWorkflowTask], [[TaskIndex]], Int)? {
    read { state in
      guard state.isFresh else { return nil }
      return (
        Array(state.tasks),
        (0..<TaskIndex(state.graph.count)).map { state.graph.prerequisites(of: $0) },
        state.graph.edges.count
      )
    }
  }
}

extension WorkflowCore.State {
  /// Whether no task has run or is about to run.
  ///
  /// A task may have been skipped when it was added, because of its rule.
  fileprivate var isFresh: Bool {
    journal == nil && !isReleased && !isRunning && graph.activeCount == 0
      && graph.nodes.allSatisfy { node in
        node.run == 0
          && (node.state == .ready || node.state == .pending || node.state == .skipped)
      }
  }
}

extension JournaledTree.Core {
  fileprivate func hasNotChanged(_ state: borrowing WorkflowCore.State) -> Bool {
    state.isFresh && state.graph.count == tasks.count && state.graph.edges.count == edgeCount
  }

  /// Whether the workflow has not changed since its tasks were read.
  var isUnchanged: Bool { core.read { hasNotChanged($0) } }

  /// Returns what a workflow gets.
  fileprivate func restoration(
    of results: [String: JournalMatch.Result], _ writer: JournalWriter, isOutermost: Bool
  ) -> CoreRestoration {
    CoreRestoration(
      core: core, tasks: tasks,
      journal: CoreJournal(
        writer: writer, codings: codings,
        lines: codings.compactMapValues { results[$0.identifier]?.entry.n },
        isResumed: isOutermost),
      finished: codings.compactMap { index, coding in
        results[coding.identifier].map { (index, $0) }
      })
  }
}

/// What a workflow gets when it is resumed: the journal, and results for some of its tasks.
private struct CoreRestoration {
  let core: WorkflowCore
  let tasks: [AnyWorkflowTask]
  let journal: CoreJournal
  let finished: [(TaskIndex, JournalMatch.Result)]

  private var ends: [(TaskIndex, Delivery)] {
    finished.map { ($0, .finished($1.task, $1.box)) }
  }

  /// With the lock held: finishes the tasks that have recorded results, and attaches the
  /// journal.
  func carryOut(
    _ state: inout WorkflowCore.State, _ waiters: inout [(WorkflowCore.TaskWaiter, Delivery)]
  ) {
    state.journal = journal
    for (_, result) in finished { result.task.store(result.box) }
    state.graph.restore(finished.map { (task: $0.0, date: $0.1.date) })
    let skipped = state.taskWaiters.keys.filter { state.graph[$0].state == .skipped }
      .map { ($0, Delivery.skipped(tasks[Int($0)])) }
    for (index, end) in ends + skipped {
      for waiter in state.takeWaiters(index) ?? [] { waiters.append((waiter, end)) }
    }
    #if PROPERATIONS_INVARIANTS
      state.check()
    #endif
  }

  /// After unlock: counts the tasks in the progress of the workflow.
  func tellProgress() {
    guard let progress = core.read({ $0.progress }) else { return }
    for (_, end) in ends { progress.tell(end) }
    for task in tasks where !task.isFinished {
      progress.tell(task.isSkipped ? .skipped(task) : .reset(task))
    }
    for task in tasks where task.nesting != nil { core.tellProgress(of: task) }
  }
}

extension JournaledTree {
  /// Finishes the tasks that have recorded results, and attaches the journal.
  ///
  /// In one step for all workflows. Otherwise another thread could change one of them in
  /// between, or record a result inside without the recorded tasks around it.
  ///
  /// - Returns: Whether the workflows were still unchanged. If not, nothing happens.
  fileprivate func restore(
    _ results: [String: JournalMatch.Result], _ writer: JournalWriter
  ) -> Bool {
    // Inner workflows first: their progress counts in the progress around them.
    let parts = cores.indices.reversed().map {
      cores[$0].restoration(of: results, writer, isOutermost: $0 == 0)
    }
    var waiters: [(WorkflowCore.TaskWaiter, Delivery)] = []
    let isPossible = cores[0].core.tree.withLock {
      guard cores.allSatisfy({ $0.hasNotChanged($0.core.state) }) else { return false }
      for part in parts { part.carryOut(&part.core.state, &waiters) }
      return true
    }
    guard isPossible else { return false }
    // Before the futures settle: a handler may start the workflow, and the tasks that then
    // finish have to be counted after the restored ones.
    for part in parts { part.tellProgress() }
    for (waiter, end) in waiters { waiter.deliver(end) }
    return true
  }
}

// MARK: - What fits

/// Decides which records are restored.
struct JournalMatch {
  /// A result that is restored.
  struct Result {
    let task: AnyWorkflowTask
    var entry: JournalContents.Entry
    let box: ResultObject

    /// The date of the end, relative to Foundation's reference date.
    var date: Double { Date(timeIntervalSince1970: entry.time).timeIntervalSinceReferenceDate }
  }

  private(set) var resumption = WorkflowResumption()
  private(set) var results: [String: Result] = [:]

  /// Compares records with tasks.
  ///
  /// - Throws: If they do not fit and the policy is to fail, or if a task has begun
  ///   meanwhile.
  init(
    _ contents: JournalContents, _ tree: JournaledTree, _ policy: WorkflowJournal.MismatchPolicy
  ) throws(WorkflowJournalError) {
    // Decoding results runs user code, so no lock is held.
    self.init(contents, tree)
    if resumption.hasMismatch, policy == .fail { throw .mismatch(resumption) }
    for core in tree.cores where !core.isUnchanged {
      throw .alreadyBegun(workflow: tree.name)
    }
  }

  init(_ contents: JournalContents, _ tree: JournaledTree) {
    resumption.isTorn = contents.isTorn
    resumption.damagedLineCount = contents.damagedLineCount
    resumption.damaged = contents.damaged.sorted()
    resumption.unknown = contents.entries.keys.filter { tree.places[$0] == nil }.sorted()
    // If a task runs again, all its direct and indirect dependents run again.
    var runsAgain = Array(repeating: false, count: tree.nodes.count)
    for i in tree.order {
      let node = tree.nodes[i]
      let isBehind = node.prerequisites.contains { runsAgain[$0] }
      guard let task = node.task, let coding = node.coding else {
        runsAgain[i] = isBehind
        continue
      }
      let identifier = coding.identifier
      runsAgain[i] = true
      guard let entry = contents.entries[identifier] else { continue }
      func change(_ kind: WorkflowResumption.Change.Kind) {
        resumption.changed.append(.init(identifier: identifier, kind: kind))
      }
      if entry.version != coding.version {
        change(.version(recorded: entry.version, now: coding.version))
      } else if !Self.hasSamePrerequisites(entry, node, tree, contents) {
        change(.prerequisites)
      } else if isBehind || entry.after.contains(where: { contents.entries[$0]?.n != $1 }) {
        resumption.forgotten.append(identifier)
      } else {
        do {
          let box = try coding.decoded(from: entry.data)
          results[identifier] = Result(task: task, entry: entry, box: box)
          runsAgain[i] = false
        } catch {
          change(.result(shortText(of: error)))
        }
      }
    }
    resumption.restored = results.keys.sorted()
    resumption.forgotten.sort()
    resumption.changed.sort { $0.identifier < $1.identifier }
  }

  /// Whether a task depends on the recorded tasks on which its record depends.
  ///
  /// A new recorded task that stands further up does not count as a change of this one: it
  /// runs, and so does this one.
  private static func hasSamePrerequisites(
    _ entry: JournalContents.Entry, _ node: JournaledTree.Node, _ tree: JournaledTree,
    _ contents: JournalContents
  ) -> Bool {
    let nearest = node.coding.flatMap { tree.nearestRecorded[$0.identifier] } ?? []
    let recorded = Set(entry.after.keys)
    return recorded.isSubset(of: nearest)
      && nearest.subtracting(recorded).allSatisfy {
        contents.entries[$0] == nil && !node.recordedPrerequisites.contains($0)
      }
  }

  // MARK: The file

  /// Whether lines can be appended to the file as it is: all valid records are restored,
  /// the file contains little else, and there are numbers for further lines.
  func fits(_ contents: JournalContents) -> Bool {
    !contents.isDamaged && results.count == contents.entries.count
      && contents.end.length < 2 * contents.living + 4096
      && !contents.end.runsOutOfNumbers
  }

  /// Gives the restored records the numbers from one on, in their order.
  mutating func renumber() {
    let sorted = results.sorted { $0.value.entry.n < $1.value.entry.n }.map(\.key)
    let numbers = Dictionary(uniqueKeysWithValues: zip(sorted, 1...))
    for (identifier, result) in results {
      var entry = result.entry
      entry.n = numbers[identifier] ?? entry.n
      // All prerequisites of a restored record are restored, too.
      for other in entry.after.keys { entry.after[other] = numbers[other] }
      results[identifier]?.entry = entry
    }
  }

  /// Returns the lines of a new file with only the restored records, where it ends, and the
  /// sizes of the lines.
  func rewritten(salt: UInt64) -> (bytes: [UInt8], end: JournalEnd, sizes: [String: Int]) {
    results.mapValues(\.entry).rewritten(salt: salt)
  }
}
