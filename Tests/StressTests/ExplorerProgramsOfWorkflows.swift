#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing
  import Workflows

  /// Two acts on a workflow that runs, or on a workflow inside another one and on the one
  /// around it.
  @Suite("Explored programs: workflows", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfWorkflows {
    private static let explorer = Explorer(preemptions: 2, limit: size(200))

    /// A task that executes until it is ended from outside.
    private final class OpenTask: WorkflowTask<Int>, @unchecked Sendable {
      // Sendable: adds no state.
      override func main() {}
    }

    enum Act: String, CaseIterable, Sendable {
      case start, cancel, retry, reset, add
      case finishFirst, failFirst, cancelFirst, retryFirst, resetFirst
      case fulfil
    }

    /// Three tasks in a row, on the thread that makes them ready.
    ///
    ///   first ──▶ condition ──▶ second ┄┄▶ what an act has added
    private final class Row: @unchecked Sendable {
      // Sendable: nothing changes after init.
      let workflow = Workflow(name: "row", context: .inline)
      let first = OpenTask(name: "first")
      let condition: ExternalConditionTask<Int>
      let second: BlockWorkflowTask<Int>
      let outcomes = Log<Future<WorkflowOutcome>>()
      private let added = Log<AnyWorkflowTask>()
      private let finishes = Counter()
      private let fulfilments = Counter()
      private let earlyRuns = Counter()

      /// - Parameter waits: Whether the condition waits for its fulfilment, instead of
      ///   failing.
      init(waits: Bool) throws {
        let (finishes, fulfilments, earlyRuns) = (finishes, fulfilments, earlyRuns)
        condition = ExternalConditionTask(name: "condition", waitsForFulfillment: waits)
        second = BlockWorkflowTask(name: "second") { task in
          if finishes.value == 0 || fulfilments.value == 0 { earlyRuns.add() }
          task.finish(with: 1)
        }
        try workflow.add(first)
        try workflow.add(condition, prerequisites: first)
        try workflow.add(second, prerequisites: condition)
      }

      private var tasks: [AnyWorkflowTask] { [first, condition, second] + added.entries }

      func perform(_ act: Act) {
        switch act {
        case .start: outcomes.append(workflow.start())
        case .cancel: workflow.cancel()
        case .retry: outcomes.append(workflow.retry())
        case .reset: workflow.reset()
        case .add:
          let task = BlockWorkflowTask<Int>(name: "added") { task in task.finish(with: 1) }
          added.append(task)
          _ = try? workflow.add(task, prerequisites: second)
        case .finishFirst:
          finishes.add()
          first.finish(with: 1)
        case .failFirst: first.fail(with: TestError.first)
        case .cancelFirst: first.cancel()
        case .retryFirst: first.retry()
        case .resetFirst: first.reset()
        case .fulfil:
          fulfilments.add()
          condition.fulfill(with: 1)
        }
      }

      /// Ends what executes, then runs everything that has not finished.
      ///
      /// - Parameter run: Retries and starts the outermost workflow.
      func complete(_ run: () -> Void) {
        perform(.finishFirst)
        perform(.fulfil)
        run()
        perform(.finishFirst)
        perform(.fulfil)
      }

      /// Declares what has to hold in the end.
      func check(_ program: ExploredProgram) {
        program.atEnd("every run of the row has an outcome") { [self] in
          outcomes.entries.allSatisfy(\.isFulfilled)
        }
        program.atEnd("no task of the row runs before its prerequisite") { [self] in
          earlyRuns.value == 0
        }
        program.atEnd("every task of the row has finished") { [self] in
          tasks.allSatisfy { $0.state == .finished }
        }
        program.atEnd("the row has finished") { [self] in
          !workflow.hasUnfinishedTasks && !workflow.hasFailedTasks
        }
      }
    }

    @Test(arguments: Act.allCases)
    func `any two messages to a workflow that runs let it come to rest`(
      _ first: Act
    ) async throws {
      let index = try #require(Act.allCases.firstIndex(of: first))
      for second in Act.allCases[index...] {
        try await Self.explorer.explore("\(first) beside \(second) in a workflow") { program in
          guard let row = try? Row(waits: true) else { return }
          row.perform(.start)
          program.thread { row.perform(first) }
          program.thread { row.perform(second) }
          program.afterwards {
            row.complete {
              row.perform(.retry)
              row.perform(.start)
            }
          }
          row.check(program)
        }
      }
    }

    enum OuterAct: String, CaseIterable, Sendable {
      case start, cancel, retry, reset
      case cancelNested, retryNested, resetNested
    }

    /// A row inside another workflow.
    ///
    ///   nested: the row ──▶ last
    private final class Nest: @unchecked Sendable {
      // Sendable: nothing changes after init.
      let row: Row
      private let outer = Workflow(name: "outer", context: .inline)
      private let nested: SubworkflowTask<Int>
      private let last: BlockWorkflowTask<Int>
      private let outcomes = Log<Future<WorkflowOutcome>>()
      private let contradictions = Counter()

      init() throws {
        row = try Row(waits: false)
        nested = SubworkflowTask(name: "nested", subworkflow: row.workflow) { _ in 1 }
        last = BlockWorkflowTask(name: "last") { task in task.finish(with: 1) }
        try outer.add(nested)
        try outer.add(last, prerequisites: nested)
      }

      func perform(_ act: OuterAct) {
        switch act {
        case .start: outcomes.append(outer.start())
        case .cancel: outer.cancel()
        case .retry: outcomes.append(outer.retry())
        case .reset: outer.reset()
        case .cancelNested: nested.cancel()
        case .retryNested: nested.retry()
        case .resetNested: nested.reset()
        }
      }

      /// Compares the inside with the task around it, when both are at rest.
      func look() {
        if row.first.state == .cancelled, nested.state != .cancelled { contradictions.add() }
      }

      func check(_ program: ExploredProgram) {
        row.check(program)
        program.atEnd("what is cancelled inside is cancelled outside") { [self] in
          contradictions.value == 0
        }
        program.atEnd("every outer run has an outcome") { [self] in
          outcomes.entries.allSatisfy(\.isFulfilled)
        }
        program.atEnd("both outer tasks have finished") { [self] in
          nested.state == .finished && last.state == .finished
        }
      }
    }

    private static func explore(
      _ name: String, _ acts: @escaping @Sendable (Nest) -> [@Sendable () -> Void]
    ) async throws {
      try await explorer.explore(name) { program in
        guard let nest = try? Nest() else { return }
        nest.perform(.start)
        for act in acts(nest) { program.thread(act) }
        program.afterwards {
          nest.look()
          nest.row.complete {
            nest.perform(.retry)
            nest.perform(.start)
          }
        }
        nest.check(program)
      }
    }

    @Test(arguments: OuterAct.allCases)
    func `two messages to a nested workflow and to the one around it let both come to rest`(
      _ first: OuterAct
    ) async throws {
      for second in Act.allCases {
        try await Self.explore("outer \(first) beside inner \(second)") { nest in
          [{ nest.perform(first) }, { nest.row.perform(second) }]
        }
      }
      let index = try #require(OuterAct.allCases.firstIndex(of: first))
      for second in OuterAct.allCases[index...] {
        try await Self.explore("outer \(first) beside outer \(second)") { nest in
          [{ nest.perform(first) }, { nest.perform(second) }]
        }
      }
    }

    @Test(arguments: Act.allCases)
    func `two messages to a nested workflow let it and the one around it come to rest`(
      _ first: Act
    ) async throws {
      let index = try #require(Act.allCases.firstIndex(of: first))
      for second in Act.allCases[index...] {
        try await Self.explore("inner \(first) beside inner \(second)") { nest in
          [{ nest.row.perform(first) }, { nest.row.perform(second) }]
        }
      }
    }
  }

#endif
