import Futures
import Synchronization
import Testing

/// Runs the tests of a lane one after the other: those of all suites of the lane that have
/// this trait.
///
/// Many tests block threads on purpose. On Linux, Swift tasks run on the same pool of
/// threads as Dispatch's queues, and that pool grows slowly: a few dozen tests that block
/// at the same time starve the others. One test of each lane at a time keeps a few
/// processors busy.
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
    let lane = isAlone ? nil : Lane(of: test)
    await Lanes.all.enter(lane)
    defer { Lanes.all.leave(lane) }
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
private enum Lane: CaseIterable {
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
}

/// The lanes, and the tests that wait for them, in the order of their calls.
///
/// A test that must be alone goes first: no other test enters a lane until it has run. So the
/// lanes empty once for all these tests, not once for each of them.
private final class Lanes: Sendable {
  static let all = Lanes()

  private typealias Line = [CheckedContinuation<Void, Never>]

  private struct State {
    var taken: Set<Lane> = []
    var waiting: [Lane: Line] = [:]
    var waitingAlone: Line = []

    /// Takes the lanes that are free for tests that wait, and returns those tests.
    mutating func admit() -> Line {
      if !waitingAlone.isEmpty {
        guard taken.isEmpty else { return [] }
        taken = Set(Lane.allCases)
        return [waitingAlone.removeFirst()]
      }
      var admitted = Line()
      for lane in Lane.allCases where !taken.contains(lane) && waiting[lane]?.isEmpty == false {
        taken.insert(lane)
        admitted += [waiting[lane]!.removeFirst()]
      }
      return admitted
    }
  }

  private let state = TestLock(State())

  /// Waits for a lane; for all of them without one.
  func enter(_ lane: Lane?) async {
    await withCheckedContinuation { continuation in
      change { state in
        if let lane {
          state.waiting[lane, default: []].append(continuation)
        } else {
          state.waitingAlone.append(continuation)
        }
      }
    }
  }

  func leave(_ lane: Lane?) {
    change { state in
      if let lane { state.taken.remove(lane) } else { state.taken = [] }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let admitted = state.withLock { state in
      body(&state)
      return state.admit()
    }
    for continuation in admitted { continuation.resume() }
  }
}
