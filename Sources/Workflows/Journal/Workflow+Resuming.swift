import Foundation
import Futures

extension Workflow {
  /// Goes on where the journal ends: restores the results that it has, and records those
  /// that come.
  ///
  /// Call it when all tasks are added, and before the first of them runs. Tasks whose
  /// results are in the journal are then finished; no hook, delegate or observer is told
  /// so. Nothing is started: call ``start()`` or ``run()`` afterwards. If the recorded
  /// run had come to its end, the workflow has finished; remove the file, or
  /// ``reset()`` the workflow, to run everything again.
  ///
  /// A recorded task is restored if all recorded tasks before it are, also those in
  /// workflows inside or around. So no result is restored that was made from one which
  /// has to be made again. If a part of the file is damaged, or its end is cut, the tasks
  /// that were recorded there run again, and those that depend on them: the returned value
  /// names them. Tasks that are not recorded run again in any case.
  ///
  /// The journal and the workflow must fit: every recorded task must be in the workflow,
  /// with the version, the type of result and the recorded prerequisites that it had.
  ///
  /// The file is mended, and what no longer counts is left out, before this returns.
  ///
  /// - Parameters:
  ///   - journal: The file. It is made if it does not exist.
  ///   - policy: What happens if journal and workflow do not fit.
  /// - Returns: What was restored, and what was not.
  /// - Throws: A ``WorkflowJournalError``; then neither the workflow nor a result in the
  ///   file is changed. Among others ``WorkflowJournalError/mismatch(_:)``, which names the
  ///   tasks, and ``WorkflowJournalError/inUse(_:)``.
  /// - Complexity: O(the size of the file + tasks + edges).
  @discardableResult
  public func resume(
    from journal: WorkflowJournal, onMismatch policy: WorkflowJournal.MismatchPolicy = .fail
  ) throws -> WorkflowResumption {
    try resume(from: journal, onMismatch: policy, device: .system)
  }

  /// Records no more, and lets other workflows use the journal.
  ///
  /// Returns when all is written that was to be recorded. Tasks whose results are being
  /// encoded at this moment fail; later results are not recorded, and later resets do not
  /// change the file. Nothing happens if the workflow was not resumed from a journal.
  ///
  /// A workflow that is released does this by itself. Threads that have run its tasks may
  /// keep it for a moment after its end: close the journal where another workflow of the
  /// same process is to be resumed from it at once.
  public func closeJournal() { core.closeJournal() }

  /// - Parameter device: What writes; another one in tests.
  @discardableResult
  func resume(
    from journal: WorkflowJournal, onMismatch policy: WorkflowJournal.MismatchPolicy = .fail,
    device: JournalDevice
  ) throws(WorkflowJournalError) -> WorkflowResumption {
    let tree = try JournaledTree(of: self)
    var file = try JournalFile.open(journal.url, device: device)
    let contents = try JournalContents(of: file)
    // (Decodes results, which runs user code: no lock is held.)
    let match = JournalMatch(contents, tree)
    if match.resumption.hasMismatch, policy == .fail { throw .mismatch(match.resumption) }
    guard tree.cores.allSatisfy({ $0.isUnchanged }) else { throw .alreadyBegun(workflow: name) }

    var end = match.end(salt: contents.header?.number ?? 0, contents)
    if !match.fits(contents) {
      let (bytes, newEnd) = match.rewritten(salt: .random(in: 0...UInt64.max))
      file = try file.replaced(with: bytes)
      end = newEnd
    }
    let writer = JournalWriter(file, end: end)
    let lines = end.records.mapValues { $0.n }
    for core in tree.cores.reversed() {
      guard
        core.restore(
          match.results, lines: lines, writer, isOutermost: core.core === self.core)
      else {
        throw .alreadyBegun(workflow: name)
      }
    }
    return match.resumption
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
/// A task that runs a workflow stands in it twice: an entry, which depends on what the
/// task depends on, and on which all tasks inside depend; and the task itself, which
/// depends on all tasks inside.
struct JournaledTree {
  struct Node {
    /// `nil` for an entry.
    let task: AnyWorkflowTask?
    let coding: (any JournaledResult)?
    var prerequisites: [Int]
    /// The identifiers of the prerequisites that are recorded.
    var recordedPrerequisites: Set<String> = []
  }

  /// A workflow, as it was when its tasks were read.
  struct Core {
    let core: WorkflowCore
    let tasks: [AnyWorkflowTask]
    let codings: [TaskIndex: any JournaledResult]
    let edgeCount: Int
  }

  private(set) var nodes: [Node] = []
  private(set) var cores: [Core] = []
  /// The nodes of recorded tasks.
  private(set) var places: [String: Int] = [:]

  /// No recursion: workflows may be nested deeply.
  init(of workflow: Workflow) throws(WorkflowJournalError) {
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
  }

  /// The nodes, prerequisites first.
  var order: [Int] { prerequisitesFirst(nodes.map(\.prerequisites)) }
}

extension WorkflowCore {
  /// The tasks of a workflow in which nothing has happened yet, their prerequisites and
  /// the number of the edges; else `nil`.
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
  /// Nothing has run, and nothing is about to.
  fileprivate var isFresh: Bool {
    journal == nil && !isReleased && !isRunning && graph.activeCount == 0
      && graph.nodes.allSatisfy { $0.run == 0 && ($0.state == .ready || $0.state == .pending) }
  }
}

extension JournaledTree.Core {
  fileprivate func hasNotChanged(_ state: borrowing WorkflowCore.State) -> Bool {
    state.isFresh && state.graph.count == tasks.count && state.graph.edges.count == edgeCount
  }

  /// Whether the workflow is as it was.
  var isUnchanged: Bool { core.read { hasNotChanged($0) } }

  /// Makes the tasks finished whose results are there, and attaches the journal.
  ///
  /// - Returns: Whether that was possible.
  func restore(
    _ results: [String: JournalMatch.Result], lines: [String: Int], _ writer: JournalWriter,
    isOutermost: Bool
  ) -> Bool {
    var linesOfTasks: [TaskIndex: Int] = [:]
    for (index, coding) in codings { linesOfTasks[index] = lines[coding.identifier] }
    let journal = CoreJournal(
      writer: writer, codings: codings, lines: linesOfTasks, isResumed: isOutermost)
    let restored = codings.compactMap { index, coding in
      results[coding.identifier].map { (index, coding, $0) }
    }
    let isPossible = core.change { state in
      guard hasNotChanged(state) else { return false }
      state.journal = journal
      for (index, coding, result) in restored {
        coding.store(result.box, in: tasks[Int(index)])
        state.graph.restore(index, on: result.date)
      }
      return true
    }
    guard isPossible else { return false }
    if let progress = core.read({ $0.progress }) {
      for (index, _, result) in restored {
        progress.tell(.finished(tasks[Int(index)], result.box))
      }
      for task in tasks where task.isSkipped { progress.tell(.skipped(task)) }
      for task in tasks where task.nesting != nil { core.tellProgress(of: task) }
    }
    return true
  }
}

// MARK: - What fits

/// Which records are restored.
struct JournalMatch {
  /// A result that is restored.
  struct Result {
    let task: AnyWorkflowTask
    let entry: JournalContents.Entry
    let box: ResultObject

    /// By Foundation's reference date.
    var date: Double { Date(timeIntervalSince1970: entry.time).timeIntervalSinceReferenceDate }
  }

  private(set) var resumption = WorkflowResumption()
  private(set) var results: [String: Result] = [:]

  init(_ contents: JournalContents, _ tree: JournaledTree) {
    resumption.isTorn = contents.isTorn
    resumption.damagedLineCount = contents.damagedLineCount
    resumption.damaged = contents.damaged.sorted()
    resumption.unknown = contents.entries.keys.filter { tree.places[$0] == nil }.sorted()
    // A task that runs again makes those behind it run again, through any tasks.
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
      } else if Set(entry.after.keys) != node.recordedPrerequisites {
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

  // MARK: The file

  /// Whether the file can be written on as it is: all that counts in it is restored, and
  /// little else is there.
  func fits(_ contents: JournalContents) -> Bool {
    contents.header != nil && !contents.isTorn && !contents.hasScratch
      && contents.damagedLineCount == 0 && contents.damaged.isEmpty
      && results.count == contents.entries.count
      && contents.sizes.all < 2 * contents.sizes.living + 4096
  }

  /// The end of the file as it is.
  func end(salt: UInt64, _ contents: JournalContents) -> JournalEnd {
    JournalEnd(
      salt: salt, lastNumber: contents.lastNumber, forgets: contents.forgets,
      lastSubject: contents.lastSubject, length: contents.sizes.all,
      records: results.mapValues { ($0.entry.n, $0.task) })
  }

  /// The lines of a file that has nothing but what is restored.
  func rewritten(salt: UInt64) -> (bytes: [UInt8], end: JournalEnd) {
    let header = JournalFormat.Header(salt: salt)
    var bytes = JournalFormat.header(header)
    let ordered = results.sorted { $0.value.entry.n < $1.value.entry.n }
    let numbers = Dictionary(
      uniqueKeysWithValues: ordered.enumerated().map { ($1.key, $0 + 1) })
    var last: JournalFormat.Subject?
    func append(_ record: JournalFormat.Record, _ data: Data = Data()) {
      bytes += JournalFormat.line(record, data: data, salt: salt)
      last = record.subject
    }
    for (i, (identifier, result)) in ordered.enumerated() {
      let entry = result.entry
      append(
        JournalFormat.Record(
          n: i + 1, forgets: 0, before: last, finished: identifier, version: entry.version,
          time: entry.time,
          after: entry.after.isEmpty
            ? nil
            : Dictionary(uniqueKeysWithValues: entry.after.keys.map { ($0, numbers[$0] ?? 0) })),
        entry.data)
    }
    if !ordered.isEmpty {
      append(JournalFormat.Record(n: ordered.count + 1, forgets: 0, before: last))
    }
    let end = JournalEnd(
      salt: salt, lastNumber: ordered.isEmpty ? 0 : ordered.count + 1, forgets: 0,
      lastSubject: last, length: bytes.count,
      records: Dictionary(
        uniqueKeysWithValues: ordered.enumerated().map { i, element in
          (element.key, (n: i + 1, task: element.value.task))
        }))
    return (bytes, end)
  }
}
