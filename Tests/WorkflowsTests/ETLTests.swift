import Foundation
import Futures
import TestSupport
import Testing
import Workflows

// From a shop into a warehouse, written as by someone who has read README: twelve
// tasks, one of them a condition and one a subworkflow, retries, live progress.

private struct Customer: Sendable, Equatable { let (id, name): (Int, String) }
private struct Order: Sendable, Equatable { let (customer, cents): (Int, Int) }
private struct Row: Sendable, Equatable { let (name, cents): (String, Int) }

// MARK: - The workflow

/// Loads what a shop has sold into a warehouse.
private final class ShopETL: Sendable {
  let workflow = Workflow(name: "Shop")
  let approval = ExternalConditionTask<String>(name: "approval", waitsForFulfillment: true)
  let report: WorkflowTask<String>

  init(from shop: Shop, to warehouse: Warehouse) throws {
    // Extract.
    let session = try workflow.add("log in") { try await shop.logIn() }
    let customers = try workflow.add("customers", after: session) { session in
      try await shop.customers(session)
    }
    let orders = try workflow.add("orders", after: session) { try await shop.orders($0) }
    let rates = try workflow.add("rates") { try await shop.rates() }
    for task in [session, customers, orders, rates] as [AnyWorkflowTask] {
      task.retryPolicy = TaskRetryPolicy(attempts: 3)
      task.timeout = .seconds(30)
    }

    // Transform.
    let names = try workflow.add("names", after: customers) { customers in
      Dictionary(customers.map { ($0.id, $0.name) }) { first, _ in first }
    }
    let valid = try workflow.add("valid orders", after: orders) { $0.filter { $0.cents > 0 } }
    let rows = try workflow.add("rows", after: names, valid, rates) { names, valid, rates in
      try valid.map { order in
        guard let name = names[order.customer] else { throw ETLError.unknown(order.customer) }
        return Row(name: name, cents: order.cents * rates)
      }
    }
    let total = try workflow.add("total", after: rows) { $0.reduce(0) { $0 + $1.cents } }

    // Load: the tables are made meanwhile, by a workflow of their own.
    let tables = try workflow.add(
      SubworkflowTask(name: "tables", subworkflow: Self.tables(of: warehouse)))
    try workflow.add(approval, prerequisites: total)
    let load = try workflow.add("load", after: rows, approval, tables) { run, rows, _, _ in
      try await warehouse.insert(rows, isAgain: run.attempt > 1)
    }
    load.retryPolicy = TaskRetryPolicy(attempts: 2)
    report = try workflow.add("report", after: load, total, approval) { count, total, approval in
      "\(count) rows, \(total) cents, approved by \(approval)"
    }
  }

  private static func tables(of warehouse: Warehouse) throws -> Workflow {
    let workflow = Workflow(name: "Tables")
    let schema = try workflow.add("schema") { try await warehouse.make("schema") }
    let parts = try ["customers", "orders", "sales"].map { name in
      try workflow.add(name, after: schema) { _ in try await warehouse.make(name) }
    }
    try workflow.add("index", after: parts) { _ in try await warehouse.make("index") }
    return workflow
  }

  /// Runs it, and shows how far it is.
  func run(_ show: (Double, String) -> Void) async -> WorkflowOutcome? {
    let (events, progress) = (workflow.events, workflow.progress)
    workflow.start()
    for await event in events {
      switch event {
      case .taskDidFinish(let task): show(progress.fractionCompleted, task.name)
      case .runDidEnd(let outcome):
        show(progress.fractionCompleted, "\(outcome)")
        return outcome
      default: break
      }
    }
    return nil
  }
}

// MARK: - What it works with

private enum ETLError: Error, Equatable { case offline, unknown(Int), full }

/// Answers when it likes, and not always at the first time.
private struct Shop: Sendable {
  let failures = Counter()
  let logIns = Counter()
  let allOrders: [Order]

  func logIn() async throws -> String {
    await Task.yield()
    logIns.add()
    return "session"
  }
  func customers(_ session: String) async throws -> [Customer] {
    await Task.yield()
    guard failures.add() > 2 else { throw ETLError.offline }
    return [Customer(id: 1, name: "Ada"), Customer(id: 2, name: "Grace")]
  }
  func orders(_ session: String) async throws -> [Order] { allOrders }
  func rates() async throws -> Int { 2 }
}

private struct Warehouse: Sendable {
  let made = Log<String>()
  let rows = Log<Row>()
  let isFull = Box(false)

  func make(_ name: String) async throws { made.append(name) }
  func insert(_ new: [Row], isAgain: Bool) async throws -> Int {
    if isFull.value { throw ETLError.full }
    for row in new { rows.append(row) }
    return new.count
  }
}

@Suite("An ETL as a new user writes it", .timeLimit(.minutes(5)), .oneAtATime)
struct ETLTests {
  private let orders = [
    Order(customer: 1, cents: 10), Order(customer: 2, cents: 0), Order(customer: 2, cents: 5),
  ]

  @Test("it runs to its end through retries, a condition and a subworkflow, and shows progress")
  func success() async throws {
    let (shop, warehouse) = (Shop(allOrders: orders), Warehouse())
    let etl = try ShopETL(from: shop, to: warehouse)
    #expect(etl.workflow.allTasks.count == 12)
    var shown: [(Double, String)] = []
    let outcome = await etl.run { part, name in
      shown.append((part, name))
      // A person, who looks at the total.
      if name == "total" { etl.approval.fulfill(with: "Grace") }
    }
    #expect(outcome == .finished)
    #expect(etl.report.result == "2 rows, 30 cents, approved by Grace")
    #expect(warehouse.rows.entries == [Row(name: "Ada", cents: 20), Row(name: "Grace", cents: 10)])
    #expect(warehouse.made.entries.first == "schema" && warehouse.made.entries.last == "index")
    #expect(shop.failures.value == 3)
    #expect(shown.map(\.0) == shown.map(\.0).sorted() && shown.last?.0 == 1)
    // (The tasks of the workflow inside are shown, too.)
    let inner = ["schema", "customers", "orders", "sales", "index"]
    let names = etl.workflow.allTasks.map(\.name) + inner + ["finished"]
    #expect(shown.map(\.1).sorted() == names.sorted() && shown.last?.1 == "finished")
  }

  @Test("an order of an unknown customer fails it where it is found, and says which")
  func badData() async throws {
    let shop = Shop(allOrders: orders + [Order(customer: 3, cents: 1)])
    let etl = try ShopETL(from: shop, to: Warehouse())
    let outcome = try #require(await etl.run { _, _ in })
    #expect(outcome.errors.map(\.key.name) == ["rows"])
    #expect(outcome.errors.values.first as? ETLError == .unknown(3))
    #expect("\(outcome)" == "failed: rows (unknown(3))")
  }

  @Test("after a failure a retry goes on where it stopped")
  func retry() async throws {
    let (shop, warehouse) = (Shop(allOrders: orders), Warehouse())
    let etl = try ShopETL(from: shop, to: warehouse)
    etl.approval.fulfill(with: "Grace")
    warehouse.isFull.value = true
    let outcome = await etl.run { _, _ in }
    #expect(outcome?.errors.values.first as? ETLError == .full)
    warehouse.isFull.value = false
    #expect(try await etl.workflow.retry().value.isFinished)
    #expect(shop.logIns.value == 1 && warehouse.made.count == 5)
    #expect(etl.report.result == "2 rows, 30 cents, approved by Grace")
  }
}
