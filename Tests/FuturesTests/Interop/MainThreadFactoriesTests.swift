import Foundation
import Futures
import TestSupport
import Testing

/// Waiting on the main thread for a future that needs the main queue is refused, whichever
/// factory made the future.
@Suite("Waiting on the main thread for factories", .timeLimit(.minutes(5)), .oneAtATime)
struct MainThreadFactoriesTests {
  struct Factory: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable @MainActor () -> Future<Void>

    private init(_ name: String, _ make: @escaping @Sendable @MainActor () -> Future<Void>) {
      testDescription = name
      self.make = make
    }

    static let all: [Factory] = [
      Factory("lazy") { Promises.lazy { Promises.makeSucceeded() } },
      Factory("loop") { Promises.loop(0) { _ in Promises.makeSucceeded(with: .done(())) } },
      Factory("traverse") {
        Promises.traverse([1]) { Promises.makeSucceeded(with: $0) }.mapToVoid()
      },
      Factory("find") {
        Promises.find(in: [1]) { _ in Promises.makeSucceeded(with: true) }.mapToVoid()
      },
      Factory("reduce") {
        Promises.reduce([Promises.makeSucceeded(with: 1)], 0) { $0 + $1 }.mapToVoid()
      },
      Factory("first") {
        Promises.first(1, of: [Promises.run { 1 }, Promises.run { 2 }]).mapToVoid()
      },
      Factory("hedge") {
        Promises.hedge(after: .milliseconds(1), attempts: 3) { _ in Promises.makeSucceeded() }
      },
      Factory("using") {
        Promises.using(acquire: Promises.makeSucceeded(with: 1), release: { _ in }) { _ in
          Promises.makeSucceeded()
        }
      },
      Factory("withPermit") { Permits(1).withPermit { Promises.makeSucceeded() } },
      Factory("async") { Promises.async { @MainActor in await Task.yield() } },
      Factory("async(retrying:)") {
        Promises.async(retrying: RetryPolicy(attempts: 2)) { @MainActor _ in await Task.yield() }
      },
      Factory("withPermit of async work") {
        Permits(1).withPermit { @MainActor in await Task.yield() }
      },
      Factory("always with async work") {
        Promises.makeSucceeded().always(perform: { @MainActor () async in await Task.yield() })
      },
      Factory("SingleFlight") {
        SingleFlight<Int, Void>().load(1) { Promises.makeSucceeded() }
      },
      Factory("Batcher") {
        Batcher<Int, Int>(maxSize: 2, maxDelay: .milliseconds(1)) {
          Promises.makeSucceeded(with: $0)
        }
        .add(1).mapToVoid()
      },
    ]
  }

  @Test(arguments: Factory.all) @MainActor
  func `it is refused, and the future settles afterwards`(_ factory: Factory) async throws {
    let future = factory.make()
    func wait() -> (any Error)? {
      do {
        try future.wait(timeout: Event.patience)
        return nil
      } catch { return error }
    }
    let error = wait()
    #expect(error as? ProperationsError == .wouldDeadlock(queue: "the main queue"))
    try await future.value
  }
}

/// Alone: what gets no thread for a second, because other tests block all, would be refused.
@Suite("Waiting on the main thread for what has returned there", .timeLimit(.minutes(5)), .alone)
struct MainThreadReturnTests {
  @Test @MainActor
  func `async work on the main actor has just returned there: a wait on main gets the value`()
    async throws
  {
    // Without a time limit, which async code may not give.
    func value(of future: Future<Int>) throws -> Int { try future.wait() }
    for round in 0..<200 {
      let hasReturned = Box(false)
      let future = Promises.async { @MainActor in
        hasReturned.value = true
        return round
      }
      while !hasReturned.value { await Task.yield() }
      #expect(try value(of: future) == round)
    }
  }
}
