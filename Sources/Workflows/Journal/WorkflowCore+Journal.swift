import Foundation
import Futures

// How the graph and the journal work together.
//
//   work ends ──▶ executing, recording ──▶ finished          (the dependents begin)
//                   │            │
//                   │            └─ not written: failed, or tried again
//                   └─ cancelled, reset: the record is forgotten
//
//   reset of a recorded task ──▶ ready, held ──▶ ready       (the record is gone)
//
// A task that is recording executes, but its work is over: nothing that this run still
// says counts, and it takes no room. The result is in the recording until it is on the
// disk.

/// What a workflow that has a journal knows of it.
struct CoreJournal {
  let writer: JournalWriter
  /// How results are recorded, of the tasks that want it.
  private(set) var codings: [TaskIndex: any JournaledResult]
  /// The lines that record the tasks that are finished.
  var lines: [TaskIndex: Int]
  /// The tickets of the recordings that are on their way.
  var recordings: [TaskIndex: UInt64] = [:]
  /// The workflow was resumed itself; if not, one around it was.
  let isResumed: Bool
  private(set) var isClosed = false

  init(
    writer: JournalWriter, codings: [TaskIndex: any JournaledResult], lines: [TaskIndex: Int],
    isResumed: Bool
  ) {
    self.writer = writer
    self.codings = codings
    self.lines = lines
    self.isResumed = isResumed
  }

  /// Has a task recorded, unless it is recorded in another way already.
  mutating func add(_ coding: any JournaledResult, for task: TaskIndex) {
    if !isClosed, lines[task] == nil, recordings[task] == nil { codings[task] = coding }
  }

  mutating func close() {
    isClosed = true
    codings = [:]
  }
}

extension WorkflowCore {
  /// A result that is to be recorded, once the lock is free.
  struct Recording {
    let core: WorkflowCore
    let writer: JournalWriter
    let task: AnyWorkflowTask
    let coding: any JournaledResult
    let ticket: UInt64
    let after: [String: Int]
    let box: ResultObject
  }

  /// What a change means for the journal, once the lock is free.
  struct JournalEffects {
    var recordings: [Recording] = []
    /// By journal: a workflow inside may have one of its own.
    var forgettings: [(writer: JournalWriter, entries: [JournalWriter.Entry])] = []

    mutating func forget(_ entry: JournalWriter.Entry, in writer: JournalWriter) {
      if let last = forgettings.indices.last, forgettings[last].writer === writer {
        forgettings[last].entries.append(entry)
      } else {
        forgettings.append((writer, [entry]))
      }
    }

    /// After unlock.
    func carryOut() {
      for (writer, entries) in forgettings { writer.append(entries) }
      for recording in recordings { recording.core.encode(recording) }
    }
  }

  // MARK: A result

  /// With the lock held, for an executing task that is about to finish: has its result
  /// recorded first, if it is to be.
  ///
  /// - Returns: Whether the task finishes later.
  func recordsFirst(
    _ task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects, box: () -> ResultObject
  ) -> Bool {
    let index = task.index
    // (No copy of the journal: what it holds is changed below, and would be copied.)
    guard let coding = state.journal?.codings[index], let writer = state.journal?.writer else {
      return false
    }
    endRun(index, &state, &effects)
    state.graph.setRecording(index, true)
    var after: [String: Int] = [:]
    for prerequisite in state.graph.prerequisites(of: index) {
      guard let line = state.journal?.lines[prerequisite],
        let coding = state.journal?.codings[prerequisite]
      else { continue }
      after[coding.identifier] = line
    }
    let ticket = writer.nextTicket()
    state.journal?.recordings[index] = ticket
    effects.journal = effects.journal ?? JournalEffects()
    effects.journal?.recordings.append(
      Recording(
        core: self, writer: writer, task: task, coding: coding, ticket: ticket, after: after,
        box: box()))
    return true
  }

  /// After unlock, on the thread that has ended the work.
  fileprivate func encode(_ recording: Recording) {
    let identifier = recording.coding.identifier
    do {
      let data = try recording.coding.encoded(recording.box)
      recording.writer.append([
        JournalWriter.Entry(
          core: self, task: recording.task, identifier: identifier, ticket: recording.ticket,
          content: .recording(
            box: recording.box, coding: recording.coding,
            time: Date().timeIntervalSince1970, after: recording.after, data: data))
      ])
    } catch {
      recordingFailed(
        of: recording.task, ticket: recording.ticket,
        .cannotEncode(identifier, reason: shortText(of: error)))
    }
  }

  /// A batch is on the disk, or cannot be written.
  func journalHasWritten(_ batch: [JournalWriter.Done]) {
    var failed: [(AnyWorkflowTask, UInt64, WorkflowJournalError)] = []
    // Together: what the first of them leads to must not hold the others up.
    perform { state, effects in
      guard !state.isReleased else { return }
      for done in batch {
        let task = done.entry.task
        switch (done.entry.content, done.outcome) {
        case (.forgetting, _):
          endHold(of: task.index, &state, &effects)
        case (.recording(let box, let coding, _, _, _), .success(let line)):
          guard let line, endRecording(of: task, done.entry.ticket, &state) else { continue }
          state.journal?.lines[task.index] = line
          finishNow(
            task, &state, &effects, store: { coding.store(box, in: task) }, box: { box })
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
    let run = change { state -> UInt32? in
      guard !state.isReleased, endRecording(of: task, ticket, &state) else { return nil }
      return state.graph[task.index].run
    }
    if let run { fail(task, run: run, with: error) }
  }

  /// With the lock held: whether the recording is one that still counts.
  private func endRecording(
    of task: AnyWorkflowTask, _ ticket: UInt64, _ state: inout State
  ) -> Bool {
    guard state.journal?.recordings[task.index] == ticket else { return false }
    state.journal?.recordings[task.index] = nil
    state.graph.setRecording(task.index, false)
    return true
  }

  // MARK: A reset

  /// With the lock held, for a task that was cancelled or reset: its record, if it has
  /// one, is void, and it does not run again before that is on the disk.
  func forgetRecord(of task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects) {
    let index = task.index
    let line = state.journal?.lines.removeValue(forKey: index)
    let recording = state.journal?.recordings.removeValue(forKey: index)
    // (Without coding the journal is closed.)
    guard line != nil || recording != nil, let coding = state.journal?.codings[index],
      let writer = state.journal?.writer
    else { return }
    state.untoldHooks[index, default: 0] += 1
    effects.journal = effects.journal ?? JournalEffects()
    effects.journal?.forget(
      JournalWriter.Entry(
        core: self, task: task, identifier: coding.identifier,
        ticket: writer.nextTicket(), content: .forgetting),
      in: writer)
  }

  // MARK: Subworkflows

  /// The workflow of a task that is about to be added has the journal of this one, if
  /// this one has any.
  func shareJournal(with task: AnyWorkflowTask) {
    guard let subworkflow = task.nesting?.inner, let journal = read({ $0.journal }),
      !journal.isClosed
    else { return }
    var next = [subworkflow]
    while let workflow = next.popLast() {
      let tasks = workflow.allTasks
      let shared = CoreJournal(
        writer: journal.writer, codings: Self.codings(of: tasks), lines: [:], isResumed: false)
      workflow.core.change { if $0.journal == nil { $0.journal = shared } }
      next += tasks.compactMap { $0.nesting?.inner }
    }
  }

  /// Records no more, in this workflow and those inside.
  func closeJournal() {
    guard let writer = read({ $0.journal.flatMap { $0.isResumed ? $0.writer : nil } }) else {
      return
    }
    var next = [self]
    while let core = next.popLast() {
      // (One that was resumed itself has a journal of its own.)
      let isOwn = core.change { state in
        guard let journal = state.journal else { return true }
        let isOwn = journal.isResumed && core !== self
        if !isOwn { state.journal?.close() }
        return isOwn
      }
      if isOwn { continue }
      next += core.read { Array($0.tasks) }.compactMap { $0.nesting?.inner.core }
    }
    writer.close()
  }

  static func codings(of tasks: [AnyWorkflowTask]) -> [TaskIndex: any JournaledResult] {
    var codings: [TaskIndex: any JournaledResult] = [:]
    for task in tasks { codings[task.index] = task.journaling }
    return codings
  }
}

extension AnyWorkflowTask {
  /// How the task's result is recorded, if it is to be.
  ///
  /// That of a task which runs when others have failed is not: whether it runs, and on
  /// what, is found out anew.
  final var journaling: (any JournaledResult)? {
    guard let journaling = settingsIfAny?.get(\.journaling) else { return nil }
    return triggerRule == .whenAllSucceed ? journaling : nil
  }
}
