import Foundation
import Properations
import TestSupport
import Testing

private struct Order: Codable, Sendable { var price: Int }

private struct Shop: Sendable {
  let calls = Counter()
  func orders() async throws -> [Order] {
    calls.add()
    return [Order(price: 2), Order(price: 3)]
  }
}

/// What the snippets call.
private struct Nightly: Sendable {
  let shop = Shop()
  let mails = Log<String>()
  /// Whether the mail cannot be sent.
  var isOffline = false

  func write(_ orders: [Order]) async throws -> String {
    "\(orders.reduce(0) { $0 + $1.price })"
  }

  func send(_ report: String) async throws {
    if isOffline { throw TestError.first }
    mails.append(report)
  }

  func nightly(journal file: URL) throws -> Workflow {
    let workflow = Workflow(name: "nightly")
    let orders = AsyncWorkflowTask<[Order]>(name: "orders") { _ in
      try await shop.orders()
    }.journaled(as: "orders")
    let report = AsyncWorkflowTask<String>(name: "report") { run in
      try await write(run.result(of: orders))
    }.journaled(as: "report", version: 2)
    let mail = AsyncWorkflowTask<Void>(name: "mail") { run in
      try await send(run.result(of: report))
    }.journaled(as: "mail")
    try workflow.add(orders)
    try workflow.add(report, prerequisites: orders)
    try workflow.add(mail, prerequisites: report)

    try workflow.resume(from: WorkflowJournal(url: file))
    return workflow
  }
}

/// What the snippets print.
private let printed = Log<String>()
private func print(_ text: String) { printed.append(text) }

@Suite("Surviving a restart", .timeLimit(.minutes(5)), .oneAtATime)
struct SurvivingARestartSnippets {
  private let folder: TemporaryFolder
  private var journal: WorkflowJournal { WorkflowJournal(url: folder.file("journal")) }

  init() throws { folder = try TemporaryFolder("Restart") }

  private func report(version: Int = 1) -> BlockWorkflowTask<Int> {
    BlockWorkflowTask<Int>(name: "report") { $0.finish(with: version) }
      .journaled(as: "report", version: version)
  }

  @Test("A run that ends before its end, and the next one")
  func nightly() async throws {
    var program = Nightly()
    program.isOffline = true
    let first = try program.nightly(journal: journal.url)
    #expect(try await first.run().isFinished == false)
    first.closeJournal()

    program.isOffline = false
    let second = try program.nightly(journal: journal.url)
    #expect(try await second.run() == .finished)
    second.closeJournal()
    #expect(program.shop.calls.value == 1)
    #expect(program.mails.entries == ["5"])
  }

  @Test("A program that has changed")
  func mismatch() async throws {
    do {
      let workflow = Workflow(name: "before")
      try workflow.add(report())
      try workflow.resume(from: journal)
      _ = try await workflow.run()
      workflow.closeJournal()
    }
    let workflow = Workflow(name: "after")
    defer { workflow.closeJournal() }
    try workflow.add(report(version: 2))

    let found: WorkflowResumption
    do {
      found = try workflow.resume(from: journal)
    } catch WorkflowJournalError.mismatch(let differences) {
      for change in differences.changed { print("runs again: \(change)") }
      found = try workflow.resume(from: journal, onMismatch: .runAgain)
    }
    #expect(found.restored == [])
    #expect(
      printed.entries.contains(
        "runs again: \"report\" (version 1 is recorded, and it is version 2)"))
  }

  @Test("A damaged file")
  func damage() throws {
    let workflow = Workflow(name: "damaged")
    defer { workflow.closeJournal() }
    let found = try workflow.resume(from: journal)
    for name in found.damaged { print("the record of \(name) is damaged") }
    for name in found.forgotten { print("\(name) depends on what runs again") }
    #expect(found.restored == [] && !found.hasMismatch)
  }

  @Test("A part that runs again")
  func reset() async throws {
    let hasNewPrices = true
    let workflow = Workflow(name: "prices")
    defer { workflow.closeJournal() }
    let report = report()
    try workflow.add(report)

    try workflow.resume(from: journal)
    if hasNewPrices { report.reset() }
    let outcome = try await workflow.run()
    #expect(outcome == .finished && report.result == 1)
  }

  @Test("A journal")
  func comment() async throws {
    struct Page: Codable, Sendable {}
    @Sendable func loadPages() async throws -> [Page] { [Page()] }
    let workflow = Workflow(name: "pages")
    defer { workflow.closeJournal() }
    let file = journal.url

    let pages = AsyncWorkflowTask<[Page]>(name: "pages") { _ in try await loadPages() }
      .journaled(as: "pages", version: 1)
    try workflow.add(pages)

    try workflow.resume(from: WorkflowJournal(url: file))
    let outcome = try await workflow.run()
    #expect(outcome == .finished)
  }

  @Test("A journal in a database")
  func storage() async throws {
    let database = Database(path: "orders")
    struct DatabaseJournal: WorkflowJournalStorage {
      let database: Database

      var name: String { database.path }

      func open() throws -> [WorkflowJournalRecord] {
        try database.lock()
        return database.rows
      }

      func write(_ changes: [WorkflowJournalChange]) throws {
        try database.transaction { rows in
          for change in changes {
            switch change {
            case .record(let record): rows[record.identifier] = record
            case .forget(let identifier): rows[identifier] = nil
            }
          }
        }
      }

      func close() { database.unlock() }
    }

    for runs in [1, 0] {
      let workflow = Workflow(name: "orders")
      defer { workflow.closeJournal() }
      let count = Counter()
      try workflow.add("total") { count.add() }.journaled(as: "total")

      try workflow.resume(from: DatabaseJournal(database: database))
      let outcome = try await workflow.run()
      #expect(outcome == .finished && count.value == runs)
    }
  }
}

/// A database for the snippet.
private final class Database: Sendable {
  struct Locked: Error {}

  let path: String
  private let state = TestLock((rows: [String: WorkflowJournalRecord](), isLocked: false))

  init(path: String) { self.path = path }

  var rows: [WorkflowJournalRecord] { state.withLock { Array($0.rows.values) } }

  func lock() throws {
    try state.withLock { state in
      if state.isLocked { throw Locked() }
      state.isLocked = true
    }
  }

  func unlock() { state.withLock { $0.isLocked = false } }

  func transaction(_ body: (inout [String: WorkflowJournalRecord]) throws -> Void) throws {
    try state.withLock { try body(&$0.rows) }
  }
}
