#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing
  import Workflows

  @Suite("Explored programs: workflows", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfWorkflows {
    /// A task that executes until it is ended from outside.
    private final class OpenTask: WorkflowTask<Int>, @unchecked Sendable {
      // Sendable: adds no state.
      override func main() {}
    }

    /// Two tasks in a row, on the thread that makes them ready.
    private final class Row: @unchecked Sendable {
      // Sendable: nothing changes after init.
      let workflow = Workflow(name: "row", context: .inline)
      let first = OpenTask(name: "first")
      let second: BlockWorkflowTask<Int>
      let outcomes = Log<Future<WorkflowOutcome>>()
      let earlyRuns = Counter()

      init() throws {
        let (first, earlyRuns) = (first, earlyRuns)
        second = BlockWorkflowTask(name: "second") { task in
          // (A reset may have come meanwhile, but the result was there.)
          if first.state == .pending { earlyRuns.add() }
          task.finish(with: 1)
        }
        try workflow.add(first)
        try workflow.add(second, prerequisites: first)
      }
    }

    enum Act: String, CaseIterable, Sendable {
      case start, cancel, retry, finishFirst, failFirst, cancelFirst, retryFirst
    }

    private static func perform(_ act: Act, _ row: Row) {
      switch act {
      case .start: row.outcomes.append(row.workflow.start())
      case .cancel: row.workflow.cancel()
      case .retry: row.outcomes.append(row.workflow.retry())
      case .finishFirst: row.first.finish(with: 1)
      case .failFirst: row.first.fail(with: TestError.first)
      case .cancelFirst: row.first.cancel()
      case .retryFirst: row.first.retry()
      }
    }

    @Test(arguments: Act.allCases)
    func `any two messages to a workflow that runs let it come to rest`(
      _ first: Act
    ) async throws {
      let index = try #require(Act.allCases.firstIndex(of: first))
      for second in Act.allCases[index...] {
        try await Explorer(preemptions: 2, limit: size(300))
          .explore("\(first) beside \(second) in a workflow") { program in
            guard let row = try? Row() else { return }
            row.outcomes.append(row.workflow.start())
            program.thread { Self.perform(first, row) }
            program.thread { Self.perform(second, row) }
            program.afterwards { row.first.finish(with: 1) }
            program.atEnd("every run has an outcome") {
              row.outcomes.entries.allSatisfy(\.isFulfilled)
            }
            program.atEnd("no task runs before its prerequisite") { row.earlyRuns.value == 0 }
            program.atEnd("no task executes") {
              row.first.state != .executing && row.second.state != .executing
            }
          }
      }
    }
  }

#endif
