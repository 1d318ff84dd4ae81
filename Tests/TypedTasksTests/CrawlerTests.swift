import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

// A program as a new user would write it: a crawler over a small web.

private enum CrawlError: Error, Equatable {
  case notFound
  case overloaded
}

private struct Page: Sendable {
  let address: String
  let links: [String]
}

/// One host, as a category: requests to one go one after the other.
private enum Host {
  static func of(_ address: String) -> String { String(address.prefix { $0 != "/" }) }
}

/// Loads one page.
private final class LoadPage: AsyncProducerTask<Page, any Error>, @unchecked Sendable {
  private let address: String
  private let web: Web

  init(_ address: String, from web: Web) {
    self.address = address
    self.web = web
    super.init(name: address)
  }

  override func perform() async throws -> Page { try await web.load(address) }
}

/// Loads a page and everything that can be reached from it.
private final class Crawl: NonFailGroupTask, @unchecked Sendable {
  // Sendable: the sets have locks.
  private let web: Web
  private let patience: @Sendable (String) -> Duration
  private let seen = TestLock<Set<String>>([])
  let pages = Log<String>()
  let failures = Log<String>()
  let steps = Log<String>()
  private let progress: Observers.Progress

  init(
    from start: String, in web: Web, atATime limit: Int,
    patience: @escaping @Sendable (String) -> Duration
  ) {
    self.web = web
    self.patience = patience
    progress = Observers.Progress { [steps] done, total in steps.append("\(done)/\(total)") }
    super.init(name: "crawl of \(start)", tasks: [])
    innerQueue.maxConcurrentTaskCount = limit
    visit(start)
  }

  private func visit(_ address: String) {
    guard seen.withLock({ $0.insert(address).inserted }) else { return }
    progress.expect(1)
    let policy = RetryPolicy(
      attempts: 3, delay: .exponential(.milliseconds(1)), jitter: .full,
      retryIf: { $0 as? CrawlError == .overloaded })

    let page = Tasks.retry(policy) { [web, patience] attempt in
      LoadPage(address, from: web)
        .addCondition(.mutuallyExclusive(Host.self, key: Host.of(address)))
        .addObserver(.timeout(patience(address)))
    }
    .addObserver(progress)
    .map { [unowned self] page in
      pages.append(page.address)
      for link in page.links { visit(link) }
    }
    // A page that is missing is no failure of the crawl. (A cancellation passes.)
    .catch(from: (any Error).self) { [failures] error in
      failures.append("\(address): \(Self.reason(error))")
      return Tasks.just(())
    }

    addTask(page)
  }

  private static func reason(_ error: any Error) -> String {
    if case .timedOut = error as? ProducerTaskError { "too slow" } else { "\(error)" }
  }
}

// MARK: The web

/// Some hosts, in memory.
private final class Web: Sendable {
  private struct State {
    var loads: [String: Int] = [:]
    var running: [String: Int] = [:]
    var most: [String: Int] = [:]
    var mostOfAll = 0
  }

  private let links: [String: [String]]
  private let state = TestLock(State())
  /// When a page that never answers is asked for.
  let isStuck = Event()

  init(_ links: [String: [String]]) { self.links = links }

  func loads(of address: String) -> Int { state.withLock { $0.loads[address] ?? 0 } }
  /// The most requests at a time, to one host and to all.
  var most: (ofHost: Int, ofAll: Int) {
    state.withLock { ($0.most.values.max() ?? 0, $0.mostOfAll) }
  }

  func load(_ address: String) async throws -> Page {
    let host = Host.of(address)
    let count = state.withLock { state in
      state.loads[address, default: 0] += 1
      state.running[host, default: 0] += 1
      state.most[host] = max(state.most[host] ?? 0, state.running[host] ?? 0)
      state.mostOfAll = max(state.mostOfAll, state.running.values.reduce(0, +))
      return state.loads[address] ?? 0
    }
    defer { state.withLock { $0.running[host]? -= 1 } }
    await Task.yield()
    guard let links = links[address] else { throw CrawlError.notFound }
    if address.contains("flaky"), count < 3 { throw CrawlError.overloaded }
    if address.contains("full") { throw CrawlError.overloaded }
    if address.contains("stuck") {
      isStuck.signal()
      // (Until the task is cancelled.)
      try await Task.sleep(for: .seconds(3600))
    }
    return Page(address: address, links: links)
  }
}

@Suite("A crawler", .timeLimit(.minutes(5)), .oneAtATime)
struct CrawlerTests {
  private static func links(stuck: [String]) -> [String: [String]] {
    var links = [
      "a.org/": ["a.org/1", "a.org/2", "b.org/", "c.org/flaky", "a.org/missing"],
      "a.org/1": ["a.org/", "a.org/2"],
      "a.org/2": ["b.org/1", "c.org/full"],
      "b.org/": (0..<20).map { "b.org/page\($0)" } + stuck,
      "b.org/1": ["d.org/"],
      "c.org/flaky": ["c.org/behind"],
      "c.org/behind": [],
      "c.org/full": ["c.org/never"],
      "d.org/": ["a.org/"],
    ]
    for number in 0..<20 { links["b.org/page\(number)"] = ["e.org/\(number)", "b.org/"] }
    for number in 0..<20 { links["e.org/\(number)"] = [] }
    for page in stuck { links[page] = ["a.org/"] }
    return links
  }

  @Test("It loads every page once, tries again, gives up in time, and keeps to its limits")
  func crawl() async {
    let links = Self.links(stuck: ["slow.org/stuck"])
    let web = Web(links)
    let crawl = Crawl(from: "a.org/", in: web, atATime: 4) { address in
      Host.of(address) == "slow.org" ? .milliseconds(20) : .seconds(1000)
    }
    let queue = TaskQueue(name: "crawler")
    queue.addTask(crawl)
    #expect(await crawl.outcome() == .success)

    let lost = ["slow.org/stuck", "c.org/full"]
    #expect(Set(crawl.pages.entries) == Set(links.keys).subtracting(lost))
    #expect(crawl.pages.count == links.count - lost.count)
    #expect(
      Set(crawl.failures.entries) == [
        "a.org/missing: notFound", "c.org/full: overloaded", "slow.org/stuck: too slow",
      ])
    #expect(web.loads(of: "c.org/flaky") == 3)
    #expect(web.loads(of: "c.org/full") == 3)
    #expect(web.loads(of: "a.org/missing") == 1)
    #expect(web.most.ofHost == 1)
    #expect(web.most.ofAll <= 4)
    let total = links.count + 1
    #expect(crawl.steps.count == total)
    #expect(crawl.steps.entries.last == "\(total)/\(total)")
  }

  @Test("Cancelling it ends everything, and what it was loading")
  func cancel() async {
    let stuck = ["x.org/stuck", "y.org/stuck"]
    let web = Web(Self.links(stuck: stuck))
    let crawl = Crawl(from: "a.org/", in: web, atATime: 3) { _ in .seconds(1000) }
    let queue = TaskQueue(name: "crawler")
    queue.addTask(crawl)
    #expect(await web.isStuck.opened())
    queue.cancelAllTasks()
    #expect(await crawl.outcome() == .cancelled)
    await queue.finished()
    #expect(crawl.innerQueue.taskCount == 0)
    #expect(!crawl.pages.entries.contains { $0.hasSuffix("/stuck") })
  }
}
