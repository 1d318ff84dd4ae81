import Foundation
import Futures

// Tasks whose closures receive the results of their prerequisites as arguments.
//
// Each form makes a block task or an async task. Only the code between the task's start
// and the call of the closure differs; it is in the extension under "Inputs" below.
//
// A closure that receives its run has one parameter more than the task has prerequisites,
// so no call can match both forms. The forms with a run are disfavoured: for mistakes
// inside a closure the compiler then reports the other forms.

extension Workflow {
  // MARK: Prerequisites of several types

  /// Adds a task whose closure receives the results of its prerequisites.
  ///
  /// The tasks given as `after:` are the task's prerequisites, and the closure receives
  /// their results, in the same order and with their types. The closure therefore cannot
  /// ask for a missing result or one of another type:
  ///
  /// ```swift
  /// let author = try workflow.add("author") { "Ada" }
  /// let pages = try workflow.add("pages", after: author) { author in try await count(author) }
  /// let report = try workflow.add("report", after: author, pages) { author, pages in
  ///   "\(pages) pages by \(author)"
  /// }
  /// ```
  ///
  /// The returned value finishes the task. A thrown error fails the task, or cancels it
  /// if the error means cancellation (`CancellationError`,
  /// `ProperationsError.cancelled`). The closure is called once in each run, when all
  /// prerequisites have finished: after a ``reset()`` or a ``retry(fileID:line:)`` again, with the
  /// new results. If a prerequisite fails or is cancelled, the closure is not called.
  ///
  /// All arguments are results of the same moment. A run that is cancelled or reset
  /// before the closure begins does not call it.
  ///
  /// A prerequisite with a `Void` result is passed like all others, as `()`: write `_`
  /// for it.
  ///
  /// Use `add(_:after:on:run:)` if the closure needs its run, and
  /// ``add(_:prerequisites:)-(Task,AnyWorkflowTask...)`` for tasks of other kinds.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - context: The context in which the closure runs; by default the workflow's.
  ///   - body: The work.
  /// - Returns: The new task. In a running workflow it may already have begun.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)`` if a prerequisite is not in
  ///   this workflow, which is then unchanged.
  /// - Complexity: O(the number of prerequisites).
  @discardableResult
  public func add<each Input: Sendable, Output: Sendable, Context: ExecutionContext>(
    _ name: String, after prerequisites: repeat WorkflowTask<each Input>,
    on context: Context = ContextOfTheWorkflow(),
    body: @escaping @Sendable (repeat each Input) throws -> Output
  ) throws -> WorkflowTask<Output> {
    let tasks = (repeat each prerequisites)
    return try add(
      BlockWorkflowTask(name: name) { run in
        run.end {
          let inputs = try (repeat run.input(each tasks))
          try run.checkGoesOn()
          return try body(repeat each inputs)
        }
      }, Self.list(repeat each prerequisites), on: context)
  }

  /// Adds a task whose async closure receives the results of its prerequisites.
  ///
  /// The same as the form with a synchronous closure, except that each run is a Swift
  /// task, as in an ``AsyncWorkflowTask``. It is cancelled when the workflow's task is
  /// cancelled, is reset or times out.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  public func add<each Input: Sendable, Output: Sendable>(
    _ name: String, after prerequisites: repeat WorkflowTask<each Input>,
    body: @escaping @Sendable (repeat each Input) async throws -> Output
  ) throws -> WorkflowTask<Output> {
    let tasks = (repeat each prerequisites)
    return try add(
      AsyncWorkflowTask(name: name) { run in
        let inputs = try (repeat run.input(each tasks))
        try run.checkGoesOn()
        return try await body(repeat each inputs)
      }, Self.list(repeat each prerequisites), on: ContextOfTheWorkflow())
  }

  /// Adds a task whose closure receives its run and the results of its prerequisites.
  ///
  /// The run comes first. The closure can read from it the number of the attempt, whether
  /// it still executes, and the task.
  ///
  /// ```swift
  /// let upload = try workflow.add(
  ///   "upload", after: report,
  ///   run: { run, report in
  ///     try send(report, isRepeated: run.attempt > 1)
  ///   })
  /// ```
  ///
  /// A closure of several statements has to state its result type, because the type of
  /// the run depends on it: `{ run, report -> Int in ... }`.
  ///
  /// Everything else is as in the form without the run. If the closure ends the run
  /// itself, with ``TaskWork/finish(with:)`` for example, its returned value or thrown
  /// error has no effect.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - context: The context in which the closure runs; by default the workflow's.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  @_disfavoredOverload
  public func add<each Input: Sendable, Output: Sendable, Context: ExecutionContext>(
    _ name: String, after prerequisites: repeat WorkflowTask<each Input>,
    on context: Context = ContextOfTheWorkflow(),
    run body: @escaping @Sendable (TaskWork<Output>, repeat each Input) throws -> Output
  ) throws -> WorkflowTask<Output> {
    let tasks = (repeat each prerequisites)
    return try add(
      BlockWorkflowTask(name: name) { run in
        run.end {
          let inputs = try (repeat run.input(each tasks))
          try run.checkGoesOn()
          return try body(run, repeat each inputs)
        }
      }, Self.list(repeat each prerequisites), on: context)
  }

  /// Adds a task whose async closure receives its run and the results of its
  /// prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  @_disfavoredOverload
  public func add<each Input: Sendable, Output: Sendable>(
    _ name: String, after prerequisites: repeat WorkflowTask<each Input>,
    run body: @escaping @Sendable (TaskWork<Output>, repeat each Input) async throws -> Output
  ) throws -> WorkflowTask<Output> {
    let tasks = (repeat each prerequisites)
    return try add(
      AsyncWorkflowTask(name: name) { run in
        let inputs = try (repeat run.input(each tasks))
        try run.checkGoesOn()
        return try await body(run, repeat each inputs)
      }, Self.list(repeat each prerequisites), on: ContextOfTheWorkflow())
  }

  // MARK: Any number of prerequisites of one type

  /// Adds a task whose closure receives the results of an array of prerequisites.
  ///
  /// The results are in the order of the array:
  ///
  /// ```swift
  /// let shards = try files.map { file in
  ///   try workflow.add(file.lastPathComponent) { try countLines(of: file) }
  /// }
  /// let sum = try workflow.add("sum", after: shards) { counts in counts.reduce(0, +) }
  /// ```
  ///
  /// If the array is empty, the task is ready at once, and the closure receives an empty
  /// array.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - context: The context in which the closure runs; by default the workflow's.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  /// - Complexity: O(the number of prerequisites).
  @discardableResult
  public func add<Input: Sendable, Output: Sendable, Context: ExecutionContext>(
    _ name: String, after prerequisites: [WorkflowTask<Input>],
    on context: Context = ContextOfTheWorkflow(),
    body: @escaping @Sendable ([Input]) throws -> Output
  ) throws -> WorkflowTask<Output> {
    try add(
      BlockWorkflowTask(name: name) { run in
        run.end { try body(run.inputs(prerequisites)) }
      }, prerequisites, on: context)
  }

  /// Adds a task whose async closure receives the results of an array of prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  public func add<Input: Sendable, Output: Sendable>(
    _ name: String, after prerequisites: [WorkflowTask<Input>],
    body: @escaping @Sendable ([Input]) async throws -> Output
  ) throws -> WorkflowTask<Output> {
    try add(
      AsyncWorkflowTask(name: name) { run in
        try await body(run.inputs(prerequisites))
      }, prerequisites, on: ContextOfTheWorkflow())
  }

  /// Adds a task whose closure receives its run and the results of an array of
  /// prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - context: The context in which the closure runs; by default the workflow's.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  @_disfavoredOverload
  public func add<Input: Sendable, Output: Sendable, Context: ExecutionContext>(
    _ name: String, after prerequisites: [WorkflowTask<Input>],
    on context: Context = ContextOfTheWorkflow(),
    run body: @escaping @Sendable (TaskWork<Output>, [Input]) throws -> Output
  ) throws -> WorkflowTask<Output> {
    try add(
      BlockWorkflowTask(name: name) { run in
        run.end { try body(run, run.inputs(prerequisites)) }
      }, prerequisites, on: context)
  }

  /// Adds a task whose async closure receives its run and the results of an array of
  /// prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  @_disfavoredOverload
  public func add<Input: Sendable, Output: Sendable>(
    _ name: String, after prerequisites: [WorkflowTask<Input>],
    run body: @escaping @Sendable (TaskWork<Output>, [Input]) async throws -> Output
  ) throws -> WorkflowTask<Output> {
    try add(
      AsyncWorkflowTask(name: name) { run in
        try await body(run, run.inputs(prerequisites))
      }, prerequisites, on: ContextOfTheWorkflow())
  }

  // MARK: One way in

  func add<Output: Sendable, Context: ExecutionContext>(
    _ task: WorkflowTask<Output>, _ prerequisites: [AnyWorkflowTask],
    when rule: TriggerRule = .whenAllSucceed, on context: Context
  ) throws -> WorkflowTask<Output> {
    // Before the task is added: in a workflow that runs it may begin at once.
    if Context.self != ContextOfTheWorkflow.self { task.setContext(context) }
    return try add(task, prerequisites: prerequisites, when: rule)
  }

  static func list<each Input>(
    _ prerequisites: repeat WorkflowTask<each Input>
  ) -> [AnyWorkflowTask] {
    var list: [AnyWorkflowTask] = []
    repeat list.append(each prerequisites)
    return list
  }
}

/// The default of `on:`: the task has no context of its own.
///
/// It is a type because `nil` would leave the generic type of the context open.
@usableFromInline
struct ContextOfTheWorkflow: ExecutionContext {
  @usableFromInline init() {}
  @usableFromInline func execute(_ operation: Operation) { operation.start() }
}

// MARK: Inputs

extension TaskWork {
  /// Returns the result of a prerequisite.
  ///
  /// The value is valid only if a later ``checkGoesOn()`` does not throw.
  fileprivate func input<Input>(_ prerequisite: WorkflowTask<Input>) throws -> Input {
    guard let result = prerequisite.result else {
      try checkGoesOn()
      throw WorkflowError.noResult(of: prerequisite)
    }
    return result
  }

  /// Throws if the run is over; the error then has no effect.
  ///
  /// A prerequisite can run again only after a reset, which first ends this run. Results
  /// that were read in a run that still executes therefore belong together.
  func checkGoesOn() throws {
    guard isExecuting else { throw CancellationError() }
  }

  /// Returns the results of prerequisites, all of the same moment.
  fileprivate func inputs<Input>(_ prerequisites: [WorkflowTask<Input>]) throws -> [Input] {
    let inputs = try prerequisites.map { try input($0) }
    try checkGoesOn()
    return inputs
  }

  /// Ends the run with the result or the error of a closure.
  func end(_ body: () throws -> Output) {
    end(with: Result { try body() })
  }
}
