import Foundation
import Properations
import TestSupport
import Testing

// The snippets of the documentation comments in `Sources/Futures/Limits`, and of
// `Promises.using`.

private struct Connection: Sendable {
  let closed: Counter
  func close() { closed.add() }
  func query(_ text: String) -> Future<Int> { Promises.makeSucceeded(with: text.count) }
}

private struct Pool: Sendable {
  let closed = Counter()
  func connection() -> Future<Connection> {
    Promises.makeSucceeded(with: Connection(closed: closed))
  }
}

private struct File: Sendable {
  let closed: Counter
  func close() { closed.add() }
  func size() -> Future<Int> { Promises.makeSucceeded(with: 0) }
}

private struct Person: Sendable, Equatable { let id: Int }

private func fetchProfile(_ id: Int) -> Future<Person> {
  Promises.makeSucceeded(with: Person(id: id))
}

private func fetchProfiles(_ ids: [Int]) -> Future<[Person]> {
  Promises.makeSucceeded(with: ids.map { Person(id: $0) })
}

@Suite("Comments about limits", .timeLimit(.minutes(5)), .oneAtATime)
struct LimitsComments {
  @Test("Permits: connections")
  func futures() async throws {
    let connections = Permits(4)
    let page = connections.withPermit(on: .global()) { fetch(url) }
    #expect(try await !page.value.isEmpty)
  }

  @Test("Permits: async and await")
  func async() async throws {
    let connections = Permits(4)
    func load() async throws -> Data {
      let permit = try await connections.acquire().value(onTaskCancellation: .cancelFuture)
      defer { permit.release() }
      return try await fetch(url).value
    }
    let page = connections.withPermit { try await fetch(url).value }
    #expect(try await page.value == load())
    #expect(await eventually { connections.availableCount == 4 })
  }

  @Test("using: a file that takes long to open")
  func usingShielded() async throws {
    let (file, open) = (File(closed: Counter()), Event())
    @Sendable func openFile() async throws -> File {
      #expect(await open.opened())
      return file
    }
    let size = Promises.using(
      acquire: Promises.async { try await openFile() }, shieldingAcquisition: true,
      release: { $0.close() }, on: .global()
    ) { file in
      file.size()
    }
    size.cancel()
    open.signal()
    #expect(await eventually { file.closed.value == 1 })
  }

  @Test("using: a connection")
  func using() async throws {
    let pool = Pool()
    let answer = Promises.using(
      acquire: pool.connection(), release: { $0.close() }, on: .global()
    ) { connection in
      connection.query("SELECT 1")
    }
    #expect(try await answer.value == 8)
    #expect(pool.closed.value == 1)
  }

  @Test("RateLimiter: requests")
  func rates() async throws {
    let limiter = RateLimiter(permits: 10, per: .seconds(1))
    let page = limiter.acquire().mapToFuture(on: .global()) { fetch(url) }
    #expect(try await !page.value.isEmpty)
    let turn = limiter.acquire(for: url.host)
    try await turn.value
  }

  @Test("RetryBudget: pages and a large file")
  func budgets() async throws {
    let big = url

    let budget = RetryBudget(ratio: 0.2)
    let policy = RetryPolicy(attempts: 4, delay: .exponential(.milliseconds(200)), budget: budget)
    let page = Promises.retry(policy, on: .global()) { attempt in fetch(url) }
    let file = Promises.hedge(after: .seconds(1), budget: budget, on: .global()) { _ in fetch(big) }
    #expect(try await !page.value.isEmpty)
    #expect(try await !file.value.isEmpty)
    #expect(budget.available > 0)
  }

  @Test("Batcher: profiles")
  @MainActor
  func batches() async throws {
    let shown = Promises.make(promising: Person.self)
    func show(_ profile: Person) { shown.succeed(with: profile) }

    let profiles = Batcher(maxSize: 100, maxDelay: .milliseconds(5), on: .global()) { ids in
      fetchProfiles(ids)
    }
    profiles.add(7).onSuccess { profile in show(profile) }
    #expect(try await shown.value == Person(id: 7))
  }

  @Test("SingleFlight: profiles")
  func flights() async throws {
    typealias Profile = Person

    let profiles = SingleFlight<Int, Profile>(timeToLive: .seconds(60), maxCount: 1_000)

    func profile(_ id: Int) -> Future<Profile> {
      profiles.load(id, on: .global()) { fetchProfile(id) }
    }
    #expect(try await profile(7).value == Person(id: 7))
    #expect(profiles.keptCount == 1)
  }
}
