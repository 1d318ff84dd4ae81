import Foundation
import Futures
import TestSupport
import Testing

private struct Lost: Error {}

@Suite("Lost failures", .timeLimit(.minutes(5)), .alone)
struct LostFailureTests {
  /// Fails a promise after a closure has used it, drops everything, and returns the reports.
  private func reports(
    failing error: any Error = Lost(), after use: @escaping @Sendable (Promise<Int>) -> Void
  ) async throws -> [LostFailure] {
    try await DiagnosticsRecorder().recording {
      func run() {
        let promise = Promise<Int>()
        use(promise)
        promise.fail(with: error)
      }
      run()
    }.failures
  }

  @Test("A failed promise that is dropped is reported once, with its place and its name")
  func dropped() async throws {
    let name = "\"\n👩‍🚀}" + String(repeating: "x", count: 10_000)
    let line: UInt = #line + 4
    let failures = try await DiagnosticsRecorder().recording {
      func run() {
        do {
          let promise = Promise<Int>(name: name)
          promise.fail(with: Lost())
        }
      }
      run()
    }.failures
    #expect(failures.count == 1)
    let report = try #require(failures.first)
    #expect(report.error is Lost)
    #expect(report.createdAt.line == Int(line))
    #expect(report.createdAt.valueType == "Int")
    #expect(report.name == name)
    #expect(report.description.contains("ignoreFailure()"))
  }

  @Test("Of a chain of links, only the last one is reported")
  func chain() async throws {
    let line: UInt = #line + 4
    let failures = try await reports { promise in
      var last: Future<Int> = promise
      for _ in 0..<10 { last = last.mapToValue(on: .inline) { $0 + 1 } }
      last = last.mapToFuture(on: .inline) { Promises.makeSucceeded(with: $0) }
    }
    #expect(failures.map(\.createdAt.line) == [Int(line)])
  }

  @Test("A closure that throws is reported at its link")
  func thrown() async throws {
    let line: UInt = #line + 3
    let failures = try await DiagnosticsRecorder().recording {
      func run() {
        Promises.makeSucceeded(with: 1).mapToValue(on: .inline) { _ in throw Lost() }
          .onSuccess(on: .inline) {}
      }
      run()
    }.failures
    #expect(failures.map(\.createdAt.line) == [Int(line) + 1])
  }

  @Test("Values and cancellations are not reported")
  func noFailures() async throws {
    let failures = try await DiagnosticsRecorder().recording {
      func run() {
        Promise<Int>().succeed(with: 1)
        Promise<Int>().cancel()
        Promise<Int>().fail(with: CancellationError())
        let promise = Promise<Int>()
        let link = promise.mapToValue(on: .inline) { $0 }
        promise.fail(with: ProperationsError.cancelled)
        _ = link
      }
      run()
    }.failures
    #expect(failures.isEmpty)
  }

  typealias Use = @Sendable (Promise<Int>) -> Void

  private static let looks: [(String, Use)] = [
    ("recover", { _ = $0.recover(on: .inline) { _ in 0 } }),
    ("mapResult", { _ = $0.mapResult(on: .inline) { _ in .success(1) } }),
    ("onFailure", { $0.onFailure(on: .inline) { _ in } }),
    ("onCompletion", { $0.onCompletion(on: .inline) { (_: FutureResult<Int>) in } }),
    (
      "onCompletion of any value",
      {
        ($0 as AnyFuture).onCompletion(on: .inline) { (_: (any Error)?) in }
      }
    ),
    (
      "handlers of success and failure, one by one",
      {
        $0.onSuccess(on: .inline) { _ in }
        $0.onFailure(on: .inline) { _ in }
        $0.onCancel(on: .inline) {}
      }
    ),
    (
      "a handler of success behind one of failure",
      { $0.onFailure(on: .inline) { _ in }.onSuccess(on: .inline) { _ in } }
    ),
    ("ignoreFailure", { $0.ignoreFailure() }),
    ("ignoring the end of a chain", { $0.mapToValue(on: .inline) { $0 }.ignoreFailure() }),
    ("a join that recovers", { Promises.collectResults([$0]).onSuccess(on: .inline) { _ in } }),
    (
      "a race that was decided",
      {
        let quick = Promise<Int>()
        _ = Promises.race([$0, quick])
        quick.succeed(with: 1)
      }
    ),
  ]

  @Test("A shielded or weighted future that is dropped beside a handler loses nothing")
  func sharing() async throws {
    let uses: [Use] = [
      { promise in
        promise.onFailure(on: .inline) { _ in }
        _ = promise.shielded()
      },
      { promise in
        _ = promise.withProgressWeight(2)
        promise.onFailure(on: .inline) { _ in }
      },
      { $0.shielded().withProgressWeight(2).onFailure(on: .inline) { _ in } },
      { promise in
        let mine = promise.shielded()
        promise.onSuccess(on: .inline) { _ in }
        mine.cancel()
      },
    ]
    for (index, use) in uses.enumerated() {
      #expect(try await reports(after: use).isEmpty, "use \(index)")
    }
    #expect(try await reports { _ = $0.shielded().shielded() }.count == 1)
  }

  @Test("A join that is decided takes over the failures that its inputs had before")
  func decided() async throws {
    let joins: [@Sendable (Future<Int>, Future<Int>) -> Void] = [
      { first, second in
        Promises.collect([second, first], failingFast: true).onFailure(on: .inline) { _ in }
      },
      { _ = Promises.race([Promises.makeSucceeded(with: 1), $0, $1]) },
      { _ = Promises.first(1, of: [Promises.makeSucceeded(with: 1), $0, $1]) },
    ]
    for (index, join) in joins.enumerated() {
      let failures = try await DiagnosticsRecorder().recording {
        func run() {
          let (first, second) = (Promise<Int>(), Promise<Int>())
          first.fail(with: Lost())
          second.fail(with: Lost())
          join(first, second)
        }
        run()
      }.failures
      #expect(failures.isEmpty, "join \(index)")
    }
  }

  // No arguments of the tests: their cases would run at the same time.
  @Test("Code that gets the error looks at the failure")
  func looking() async throws {
    for (name, use) in Self.looks {
      #expect(try await reports(after: use).isEmpty, "\(name)")
    }
  }

  private static let scope = CancellationScope()
  private static let dependent = Promise<Int>()

  private static let others: [(String, Use)] = [
    ("nothing", { _ in }),
    ("onSuccess", { $0.onSuccess(on: .inline) { _ in } }),
    ("onCancel", { $0.onCancel(on: .inline) {} }),
    ("always", { $0.always(on: .inline) {} }),
    ("a combinator", { _ = $0.mapToVoid() }),
    ("a join", { _ = Promises.collect([$0]) }),
    ("a cancellation handler", { $0.onCancellationRequest {} }),
    ("a scope", { $0.cancelled(by: scope) }),
    ("a dependent", { dependent.addDependency($0) }),
  ]

  @Test("Code that does not get the error does not look at it")
  func notLooking() async throws {
    for (name, use) in Self.others {
      #expect(try await reports(after: use).count == 1, "\(name)")
    }
  }

  @Test("Reading the result or the error afterwards looks at the failure")
  func reading() async throws {
    let reads: [@Sendable (Future<Int>) async -> Void] = [
      { _ = $0.result },
      { _ = $0.error },
      { _ = try? await $0.value },
      { _ = await $0.completion },
      { future in future.onFailure(on: .inline) { _ in } },
      { future in Promise<Int>().ignoreFailure().fulfill(from: future) },
    ]
    for (index, read) in reads.enumerated() {
      let failures = try await DiagnosticsRecorder().recording {
        await read(Promises.makeFailed(with: Lost(), promising: Int.self))
      }.failures
      #expect(failures.isEmpty, "read \(index)")
    }
  }

  @Test("Reading whether the future has settled, or its description, is no look")
  func describing() async throws {
    let failures = try await DiagnosticsRecorder().recording {
      func run() {
        let future = Promises.makeFailed(with: Lost(), promising: Int.self)
        _ = (future.isFulfilled, future.isFinished, future.description, future.explain())
      }
      run()
    }.failures
    #expect(failures.count == 1)
  }

  @Test("A thread that waits gets the error")
  func waiting() async throws {
    let failures = try await DiagnosticsRecorder().recording {
      let isOver = Event()
      Thread.detachNewThread {
        _ = try? Promises.makeFailed(with: Lost(), promising: Int.self).wait()
        isOver.signal()
      }
      #expect(await isOver.opened())
    }.failures
    #expect(failures.isEmpty)
  }

  @Test("A failure before the observer was installed is not reported")
  func early() async throws {
    var future: Future<Int>? = Promises.makeFailed(with: Lost(), promising: Int.self)
    let failures = try await DiagnosticsRecorder().recording {
      #expect(future != nil)
      future = nil
    }.failures
    #expect(failures.isEmpty)
  }
}
