import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// A file for a journal, which goes with its folder.
final class JournalScene: Sendable {
  private let folder: TemporaryFolder
  let url: URL

  init() throws {
    folder = try TemporaryFolder("Journal")
    url = folder.file("run.journal")
  }

  var journal: WorkflowJournal { WorkflowJournal(url: url) }

  var bytes: [UInt8] {
    get throws { Array(try Data(contentsOf: url)) }
  }

  func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: url) }

  var lines: [String] {
    get throws {
      try String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) }
    }
  }

  /// The lines that record results.
  var recordCount: Int {
    get throws { try lines.count { $0.contains(#""finished":"#) && $0.contains(#""data":"#) } }
  }
}

extension JournalDevice {
  /// Syncs nothing, for tests that open many files.
  static let hasty = JournalDevice(write: system.write, sync: { _ in 0 })
}

/// A device whose syncs wait until they are let go, and which counts them.
final class GatedDevice: Sendable {
  private let gate = TestLock(Event())
  let syncs = Counter()
  let arrivals = Counter()

  init(isOpen: Bool = false) { if isOpen { open() } }

  var device: JournalDevice {
    JournalDevice(
      write: JournalDevice.system.write,
      sync: { [self] descriptor in
        arrivals.add()
        gate.withLock { $0 }.wait()
        syncs.add()
        return JournalDevice.system.sync(descriptor)
      })
  }

  func open() { gate.withLock { $0 }.signal() }
  func shut() { gate.withLock { $0 = Event() } }
}

/// A device that fails while it is told to.
final class FailingDevice: Sendable {
  let writeError = Box<Int32>(0)
  let syncError = Box<Int32>(0)
  /// How many bytes are written before the error.
  let part = Box(0)

  var device: JournalDevice {
    JournalDevice(
      write: { [self] descriptor, bytes in
        let code = writeError.value
        if code == 0 { return JournalDevice.system.write(descriptor, bytes) }
        let count = min(part.value, bytes.count)
        if count == 0 { return -Int(code) }
        part.value = 0
        return JournalDevice.system.write(
          descriptor, UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      },
      sync: { [self] descriptor in
        let code = syncError.value
        return code == 0 ? JournalDevice.system.sync(descriptor) : code
      })
  }
}

/// A chain of three tasks, of which each finishes with a number; and what has run.
final class RecordedChain: Sendable {
  let workflow: Workflow
  let tasks: [BlockWorkflowTask<Int>]
  let runs = Log<String>()

  /// - Parameters:
  ///   - values: What the tasks finish with.
  ///   - failing: The task that fails instead, if one does.
  init(
    _ values: [Int] = [1, 2, 3], version: Int = 1, failing: String? = nil,
    context: some ExecutionContext = .inline
  ) throws {
    workflow = Workflow(name: "chain", context: context)
    let runs = runs
    tasks = zip(["a", "b", "c"], values).map { name, value in
      BlockWorkflowTask<Int>(name: name) { run in
        runs.append(name)
        if name == failing { run.fail(with: TestError.first) } else { run.finish(with: value) }
      }.journaled(as: name, version: version)
    }
    for (i, task) in tasks.enumerated() {
      try workflow.add(task, prerequisites: i > 0 ? [tasks[i - 1]] : [])
    }
  }

  deinit { workflow.closeJournal() }

  var results: [Int?] { tasks.map(\.result) }
  var states: [WorkflowTaskState] { tasks.map(\.state) }
}

/// The error of a body, if it throws one of a journal's.
func journalError(_ body: () throws -> Void) -> WorkflowJournalError? {
  do {
    try body()
    return nil
  } catch {
    return error as? WorkflowJournalError
  }
}
