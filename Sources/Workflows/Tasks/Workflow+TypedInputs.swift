import Foundation
import Futures

// Tasks whose work gets the results of their prerequisites as arguments.
//
// Each form makes a block task or an async task: what the task does between its start
// and the call of the closure is in `Inputs` below, and nothing else is special
// about it.
//
// A closure that gets its run has one parameter more than the task has prerequisites, so
// no call can mean both forms. The forms with a run are disfavoured: the compiler then
// explains mistakes inside a closure by the other ones.

extension Workflow {
  // MARK: Prerequisites of several types

  /// Adds a task that works with the results of others.
  ///
  /// The tasks named after `after:` are both the task's prerequisites and what its
  /// closure gets, in the same order and as values of their types. So the closure
  /// cannot ask for a result that is not there, or for one of another type:
  ///
  /// ```swift
  /// let author = try workflow.add("author") { "Ada" }
  /// let pages = try workflow.add("pages", after: author) { author in try await count(author) }
  /// let report = try workflow.add("report", after: author, pages) { author, pages in
  ///   "\(pages) pages by \(author)"
  /// }
  /// ```
  ///
  /// What the closure returns finishes the task. What it throws makes the task fail,
  /// or cancels it if the error means cancellation (`CancellationError`,
  /// `ProperationsError.cancelled`). The closure is called once in each run, when all
  /// prerequisites have finished: after a ``reset()`` or a ``retry()`` again, with the
  /// results that the prerequisites have then. If a prerequisite fails or is
  /// cancelled, it is not called.
  ///
  /// All arguments are results of the same moment. A run that is cancelled or reset
  /// before the closure begins does not call it.
  ///
  /// A prerequisite without a result, whose type is `Void`, takes part like all
  /// others and is handed over as `()`: write `_` for it.
  ///
  /// Use `add(_:after:on:run:)` where the closure wants to know about its run, and
  /// ``add(_:prerequisites:)-(Task,AnyWorkflowTask...)`` for tasks of other kinds.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - context: Where the closure runs; where the workflow's tasks run if left out.
  ///   - body: The work.
  /// - Returns: The new task. If the workflow runs, it may have begun already.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)`` if a prerequisite is not
  ///   in this workflow, which is then unchanged.
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

  /// Adds a task that works with the results of others, asynchronously.
  ///
  /// The same as the form with a closure that does not wait, but for where the work
  /// is done: each run is a Swift task, as in an ``AsyncWorkflowTask``. It is
  /// cancelled when the workflow's task is cancelled, reset or runs out of time.
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

  /// Adds a task that works with its run and with the results of others.
  ///
  /// The closure gets the run first: it knows which attempt it is, whether it still
  /// goes on, and the task.
  ///
  /// ```swift
  /// let upload = try workflow.add(
  ///   "upload", after: report,
  ///   run: { run, report in
  ///     try send(report, isRepeated: run.attempt > 1)
  ///   })
  /// ```
  ///
  /// A closure of several statements has to say what it returns, because its run is
  /// one of a task with that result: `{ run, report -> Int in ... }`.
  ///
  /// Everything else is as without the run. A closure that ends the run itself, with
  /// ``TaskWork/finish(with:)`` for example, has ended it: what it returns or throws
  /// afterwards counts no more.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - context: Where the closure runs; where the workflow's tasks run if left out.
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

  /// Adds a task that works with its run and with the results of others,
  /// asynchronously.
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

  /// Adds a task that works with the results of an array of tasks.
  ///
  /// The closure gets the results in the order of the array:
  ///
  /// ```swift
  /// let shards = try files.map { file in
  ///   try workflow.add(file.lastPathComponent) { try countLines(of: file) }
  /// }
  /// let sum = try workflow.add("sum", after: shards) { counts in counts.reduce(0, +) }
  /// ```
  ///
  /// If the array is empty, the task is ready at once, and the closure gets an empty
  /// array.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - context: Where the closure runs; where the workflow's tasks run if left out.
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

  /// Adds a task that works with the results of an array of tasks, asynchronously.
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

  /// Adds a task that works with its run and with the results of an array of tasks.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - context: Where the closure runs; where the workflow's tasks run if left out.
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

  /// Adds a task that works with its run and with the results of an array of tasks,
  /// asynchronously.
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

/// The default of `on:`; the task then has no context of its own.
///
/// (A type, because `nil` would not say which context it is none of.)
@usableFromInline
struct ContextOfTheWorkflow: ExecutionContext {
  @usableFromInline init() {}
  @usableFromInline func execute(_ operation: Operation) { operation.start() }
}

// MARK: Inputs

extension TaskWork {
  /// The result of a prerequisite of the task; only to be used after
  /// ``checkGoesOn()``.
  fileprivate func input<Input>(_ prerequisite: WorkflowTask<Input>) throws -> Input {
    guard let result = prerequisite.result else {
      try checkGoesOn()
      throw WorkflowError.noResult(of: prerequisite)
    }
    return result
  }

  /// Throws if the run is over, which then is the error that has no effect.
  ///
  /// A prerequisite can run again only if it was reset, which ends this run first. So
  /// results that were read in a run that goes on belong together.
  func checkGoesOn() throws {
    guard isExecuting else { throw CancellationError() }
  }

  /// The results of prerequisites, all of the same moment.
  fileprivate func inputs<Input>(_ prerequisites: [WorkflowTask<Input>]) throws -> [Input] {
    let inputs = try prerequisites.map { try input($0) }
    try checkGoesOn()
    return inputs
  }

  /// Ends the run with what a closure returns or throws.
  func end(_ body: () throws -> Output) {
    end(with: Result { try body() })
  }
}
