import Futures
import Synchronization
import Testing

/// Runs the tests of a lane one after the other: those of all suites of the lane that have
/// this trait.
///
/// Many tests block threads on purpose. On Linux, Swift tasks run on the same pool of
/// threads as Dispatch's queues, and that pool grows slowly: a few dozen tests that block
/// at the same time starve the others. One test of each lane at a time keeps a few processors busy.
package struct OneAtATime: SuiteTrait, TestTrait, TestScoping {
  /// Whether no test of another lane runs meanwhile.
  fileprivate var isAlone = false

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // The scope is around the whole test, so the wait is outside its time limit. A test
    // whose suite has the trait too waits only once.
    guard testCase == nil, !test.isSuite, !Self.isInside else { return try await function() }
    // In one order, so that no two tests wait for each other.
    let lanes = isAlone ? Lane.allCases : [Lane(of: test)]
    for lane in lanes { await lane.turnstile.enter() }
    defer { for lane in lanes { lane.turnstile.leave() } }
    try await Self.$isInside.withValue(true) { try await function() }
  }

  @TaskLocal private static var isInside = false

  package func scopeProvider(for test: Test, testCase: Test.Case?) -> OneAtATime? {
    test.isSuite ? nil : self
  }
}

extension Trait where Self == OneAtATime {
  /// Runs one test at a time, of all tests of the lane that have this trait.
  package static var oneAtATime: OneAtATime { OneAtATime() }

  /// Runs the test while no other test runs that has this trait or ``oneAtATime``.
  ///
  /// For tests of what belongs to the whole process, such as the observer of mistakes.
  package static var alone: OneAtATime { OneAtATime(isAlone: true) }
}

/// Tests that do not run at the same time.
private enum Lane: Int, CaseIterable {
  case futures
  /// Operations and queues, and everything that has no lane of its own.
  case queues
  case tasksAndWorkflows
  /// The tests of the examples, which mostly wait for programs that they have started.
  case programs

  init(of test: Test) {
    switch test.sourceLocation.moduleName {
    case "FuturesTests": self = .futures
    case "TypedTasksTests", "WorkflowsTests": self = .tasksAndWorkflows
    case "BuildGraphTests", "DuplicateFinderTests", "ExampleSupportTests", "MediaIngestTests",
      "NestedRunLoopTests", "OrderWorkflowTests":
      self = .programs
    default: self = .queues
    }
  }

  private static let turnstiles = Self.allCases.map { _ in Turnstile() }

  var turnstile: Turnstile { Self.turnstiles[rawValue] }
}

/// Lets one caller in at a time, in the order of their calls.
private final class Turnstile: Sendable {
  private let state = TestLock((isTaken: false, waiting: [CheckedContinuation<Void, Never>]()))

  func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.isTaken {
          state.waiting.append(continuation)
          return false
        }
        state.isTaken = true
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.waiting.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}
