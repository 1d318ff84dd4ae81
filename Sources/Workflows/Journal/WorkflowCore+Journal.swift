import Foundation
import Futures

// The states of a recorded task, with a journal.
//
//   work ends ──▶ executing, recording ──▶ finished          (the dependents begin)
//                   │            │
//                   │            └─ not written: failed, or tried again
//                   └─ cancelled, reset: the record is forgotten
//
//   reset of a recorded task ──▶ ready, held ──▶ ready       (the record is removed)
//                                  │
//                                  └─ not removed: owed
//
//   a task begins that owes a removal ──▶ ready, held ──▶ executing
//                                           │
//                                           └─ not removed: failed, and still owed
//
// A task that is recording executes, but its work is over: this run can no longer end the
// task, and it takes no room. The recording holds the result until it is on the disk.

/// The journal of a workflow, as its core sees it.
struct CoreJournal {
  let writer: JournalWriter
  /// How results are recorded, for each recorded task.
  private(set) var codings: [TaskIndex: any JournaledResult]
  /// The lines that record finished tasks.
  var lines: [TaskIndex: Int]
  /// The tickets of the recordings that are being written.
  var recordings: [TaskIndex: UInt64] = [:]
  /// The tasks whose records could not be removed, and must be removed before the tasks run
  /// again.
  var unremoved: [TaskIndex: Unremoved] = [:]
  /// Whether the workflow itself was resumed; otherwise one around it was.
  let isResumed: Bool
  private(set) var isClosed = false

  enum Unremoved {
    case owed
    /// The task is due, and its record is being removed first.
    case beingRemoved
    /// The task is due, and its record could not be removed.
    case failed(WorkflowJournalError)
  }

  /// Makes a task recorded, unless its result is recorded or being recorded in another
  /// way.
  mutating func add(_ coding: any JournaledResult, for task: TaskIndex) {
    if !isClosed, lines[task] == nil, recordings[task] == nil { codings[task] = coding }
  }

  mutating func close() {
    isClosed = true
    codings = [:]
    unremoved = [:]
  }
}

extension WorkflowCore {
  /// The consequences of a change for the journal, after unlock.
  struct JournalEffects {
    /// Encode results, and pass them to the writers.
    var recordings: [() -> Void] = []
    /// The forgettings by journal: an inner workflow may have a journal of its own.
    var forgettings: [(writer: JournalWriter, entries: [JournalWriter.Entry])] = []

    mutating func forget(_ entry: JournalWriter.Entry, in writer: JournalWriter) {
      if let last = forgettings.indices.last, forgettings[last].writer === writer {
        forgettings[last].entries.append(entry)
      } else {
        forgettings.append((writer, [entry]))
      }
    }

    /// After unlock: passes the entries to the writers.
    func carryOut() {
      for (writer, entries) in forgettings { writer.append(entries) }
      for record in recordings { record() }
    }
  }

  // MARK: A result

  /// With the lock held, for an executing task that is about to finish: records its
  /// result first, if the task is recorded.
  ///
  /// - Returns: Whether the task finishes later.
  func recordsFirst(
    _ task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects, box: () -> ResultObject
  ) -> Bool {
    let index = task.index
    // Without a copy of the journal: its contents change below and would be copied.
    guard let coding = state.journal?.codings[index], let writer = state.journal?.writer else {
      return false
    }
    endRun(index, &state, &effects)
    state.graph.setRecording(index, true)
    var after: [String: Int] = [:]
    forEachRecorded(before: index) { core, task in
      // An inner workflow that was resumed itself has a journal of its own.
      guard core.state.journal?.writer === writer,
        let coding = core.state.journal?.codings[task]
      else { return false }
      // A task that has failed, and was cleaned up after, has no line.
      after[coding.identifier] = core.state.journal?.lines[task] ?? 0
      return true
    }
    let (ticket, box) = (writer.nextTicket(), box())
    state.journal?.recordings[index] = ticket
    effects.journal = effects.journal ?? JournalEffects()
    // On the thread that ended the work: encoding is the user's code.
    effects.journal?.recordings.append { [self, after] in
      do {
        let data = try coding.encoded(box)
        writer.append([
          JournalWriter.Entry(
            core: self, task: task, identifier: coding.identifier, ticket: ticket,
            content: .recording(box: box, coding: coding, date: Date(), after: after, data: data))
        ])
      } catch {
        recordingFailed(
          of: task, ticket: ticket,
          .cannotEncode(coding.identifier, reason: shortText(of: error)))
      }
    }
    return true
  }

  /// Handles the outcome of a batch: it is on the disk or cannot be written.
  func journalHasWritten(_ batch: [JournalWriter.Done]) {
    var failed: [(AnyWorkflowTask, UInt64, WorkflowJournalError)] = []
    // In one step: the consequences of the first entry must not delay the others.
    perform { state, effects in
      guard !state.isReleased else { return }
      for done in batch {
        let task = done.entry.task
        switch (done.entry.content, done.outcome) {
        case (.forgetting, let outcome):
          noteRemoval(of: task.index, outcome, &state)
          endHold(of: task.index, &state, &effects)
        case (.recording(let box, _, _, _, _), .success(let line)):
          guard let line, endRecording(of: task, done.entry.ticket, &state) else { continue }
          state.journal?.lines[task.index] = line
          finishNow(task, &state, &effects, store: { task.store(box) }, box: { box })
        case (.recording, .failure(let error)):
          failed.append((task, done.entry.ticket, error))
        }
      }
    }
    for (task, ticket, error) in failed { recordingFailed(of: task, ticket: ticket, error) }
  }

  private func recordingFailed(
    of task: AnyWorkflowTask, ticket: UInt64, _ error: WorkflowJournalError
  ) {
    // The task takes room again, which has to be counted before the policy is asked.
    let run = perform { state, _ -> UInt32? in
      guard !state.isReleased, endRecording(of: task, ticket, &state) else { return nil }
      return state.graph[task.index].run
    }
    if let run { fail(task, run: run, with: error) }
  }

  /// With the lock held: ends a recording and returns whether it was still valid.
  private func endRecording(
    of task: AnyWorkflowTask, _ ticket: UInt64, _ state: inout State
  ) -> Bool {
    guard state.journal?.recordings[task.index] == ticket else { return false }
    state.journal?.recordings[task.index] = nil
    state.graph.setRecording(task.index, false)
    return true
  }

  /// With the lock held: calls a closure for the tasks before a task, up to the nearest
  /// recorded ones.
  ///
  /// Before a task are its prerequisites; before one that runs a workflow, the last tasks of
  /// that workflow. Before the first tasks of an inner workflow are the prerequisites of the
  /// task that runs it.
  ///
  /// - Parameter isRecorded: Returns whether a task is recorded. The search does not go beyond
  ///   such a task.
  /// - Complexity: O(edges into the task and into the tasks that are not recorded + workflows
  ///   around them).
  func forEachRecorded(
    before origin: TaskIndex, _ isRecorded: (WorkflowCore, TaskIndex) -> Bool
  ) {
    struct Place: Hashable {
      let core: ObjectIdentifier
      let task: TaskIndex
    }
    var seen: Set<Place> = []
    var next: [(core: WorkflowCore, task: TaskIndex)] = [(self, origin)]
    func visit(_ core: WorkflowCore, _ task: TaskIndex) {
      if isRecorded(core, task) { return }
      let isNew = seen.insert(Place(core: ObjectIdentifier(core), task: task)).inserted
      if isNew { next.append((core, task)) }
    }
    while var (core, task) = next.popLast() {
      if let inner = core.state.tasks[Int(task)].nesting?.inner.core, inner.state.graph.count > 0 {
        for last in inner.state.graph.lastTasks() { visit(inner, last) }
        continue
      }
      while core.state.graph[task].firstPrerequisite < 0, let owner = core.state.owner {
        (core, task) = (owner.core, owner.task.index)
      }
      for prerequisite in core.state.graph.prerequisites(of: task) { visit(core, prerequisite) }
    }
  }

  // MARK: A reset

  /// With the lock held, for a task that was cancelled or reset: voids its record, if it
  /// has one.
  ///
  /// The task does not run again before that is on the disk.
  func forgetRecord(of task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects) {
    let index = task.index
    let line = state.journal?.lines.removeValue(forKey: index)
    let recording = state.journal?.recordings.removeValue(forKey: index)
    // A task that has a line without a run was restored.
    if line != nil, state.graph[index].run == 0 { state.journal?.writer.hasLostRestored() }
    if line != nil || recording != nil { _ = removeRecord(of: task, &state, &effects) }
    // The outcome of an earlier attempt to remove the record is not for the next run.
    if state.journal?.unremoved[index] != nil { state.journal?.unremoved[index] = .owed }
  }

  /// With the lock held: removes a record, and holds the task back until then; `false` if the
  /// journal is closed.
  private func removeRecord(
    of task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects
  ) -> Bool {
    let index = task.index
    // Without a coding the journal is closed.
    guard let coding = state.journal?.codings[index], let writer = state.journal?.writer
    else { return false }
    state.untoldHooks[index, default: 0] += 1
    effects.journal = effects.journal ?? JournalEffects()
    effects.journal?.forget(
      JournalWriter.Entry(
        core: self, task: task, identifier: coding.identifier,
        ticket: writer.nextTicket(), content: .forgetting),
      in: writer)
    return true
  }

  /// With the lock held: notes whether a record was removed.
  private func noteRemoval(
    of index: TaskIndex, _ outcome: Result<Int?, WorkflowJournalError>, _ state: inout State
  ) {
    var new: CoreJournal.Unremoved?
    if case .failure(let error) = outcome, state.journal?.isClosed == false {
      new = .owed
      if case .beingRemoved? = state.journal?.unremoved[index] { new = .failed(error) }
    }
    state.journal?.unremoved[index] = new
  }

  /// With the lock held, for a task that is due: tries again to remove its record, if the
  /// removal is owed.
  ///
  /// - Returns: Whether the task begins later.
  func removesRecordFirst(
    _ index: TaskIndex, _ state: inout State, _ effects: inout Effects
  ) -> Bool {
    guard case .owed? = state.journal?.unremoved[index],
      removeRecord(of: state.tasks[Int(index)], &state, &effects)
    else { return false }
    state.journal?.unremoved[index] = .beingRemoved
    return true
  }

  /// With the lock held, for a task that has begun: the error because of which its record is
  /// still there.
  ///
  /// The removal is owed again then.
  func errorOfRemoval(_ index: TaskIndex, _ state: inout State) -> WorkflowJournalError? {
    guard case .failed(let error)? = state.journal?.unremoved[index] else { return nil }
    state.journal?.unremoved[index] = .owed
    return error
  }

  // MARK: Subworkflows

  /// An inner workflow, and how the results of the tasks that it had are recorded.
  typealias InnerCodings = (
    core: WorkflowCore, taskCount: Int, codings: [TaskIndex: any JournaledResult]
  )

  /// The inner workflows of a task that is about to be added; empty if this workflow has no
  /// journal.
  func codings(inside task: AnyWorkflowTask) -> [InnerCodings] {
    guard let subworkflow = task.nesting?.inner, hasOpenJournal else { return [] }
    var codings: [InnerCodings] = []
    var next = [subworkflow]
    while let workflow = next.popLast() {
      let tasks = workflow.allTasks
      codings.append((workflow.core, tasks.count, Self.codings(of: tasks)))
      next += tasks.compactMap { $0.nesting?.inner }
    }
    return codings
  }

  private var hasOpenJournal: Bool { read { $0.journal.map { !$0.isClosed } ?? false } }

  /// With the lock held, before a task around other workflows is added: whether the codings
  /// inside are complete; `false` if a task or the journal has come since they were read.
  func canShareJournal(with inner: [InnerCodings], _ state: borrowing State) -> Bool {
    guard let journal = state.journal, !journal.isClosed else { return true }
    return !inner.isEmpty
      && inner.allSatisfy {
        $0.core.state.journal != nil || $0.core.state.graph.count == $0.taskCount
      }
  }

  /// With the lock held, for a task that was added: gives this workflow's journal to the
  /// workflows inside it that have none.
  func shareJournal(with inner: [InnerCodings], _ state: borrowing State) {
    guard let journal = state.journal, !journal.isClosed else { return }
    for (core, _, codings) in inner where core.state.journal == nil {
      core.state.journal = CoreJournal(
        writer: journal.writer, codings: codings, lines: [:], isResumed: false)
    }
  }

  /// Stops recording, in this workflow and those inside it.
  ///
  /// In one step: a task inside that still records its result has to find the recorded tasks
  /// around it.
  func closeJournal() {
    let writer: JournalWriter? = tree.withLock {
      guard let journal = state.journal, journal.isResumed else { return nil }
      var next = [self]
      while let core = next.popLast() {
        // Inside a workflow that has closed a journal of its own, others may use this one.
        next += core.state.nestings.map { $0.inner.core }
        // An inner workflow that was itself resumed keeps its own journal.
        guard core.state.journal?.writer === journal.writer else { continue }
        core.state.journal?.close()
      }
      return journal.writer
    }
    // No lock is held: the backend may be a storage of the user.
    writer?.close()
  }

  static func codings(of tasks: [AnyWorkflowTask]) -> [TaskIndex: any JournaledResult] {
    var codings: [TaskIndex: any JournaledResult] = [:]
    for task in tasks { codings[task.index] = task.journaling }
    return codings
  }
}

extension AnyWorkflowTask {
  /// How the task's result is recorded, if it is.
  ///
  /// The result of a task that also runs after failures is not recorded: whether it runs,
  /// and with what input, is decided anew.
  final var journaling: (any JournaledResult)? {
    guard let journaling = settingsIfAny?.get(\.journaling) else { return nil }
    return triggerRule == .whenAllSucceed ? journaling : nil
  }
}
