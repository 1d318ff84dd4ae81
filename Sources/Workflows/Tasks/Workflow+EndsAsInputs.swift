import Futures

// Tasks that run when others have failed get their ends, results and errors alike. The
// forms are those of `Workflow+TypedInputs.swift`, with a rule and with `Result`s.

extension Workflow {
  // MARK: Prerequisites of several types

  /// Adds a task that works with how others have ended.
  ///
  /// The closure gets a `Result` for each prerequisite, in the same order: its result;
  /// its error if it has failed; `CancellationError` if it was cancelled; ``TaskSkipped``
  /// if it was skipped; ``WorkflowError/noResult(of:)`` if it waits in vain for one that
  /// has failed or was cancelled.
  ///
  /// ```swift
  /// let upload = try workflow.add("upload", after: report) { report in try await send(report) }
  /// try workflow.add("clean up", after: upload, when: .whenAllDone) { upload in
  ///   if case .failure(let error) = upload { log("not sent: \(error)") }
  ///   removeTemporaryFiles()
  /// }
  /// ```
  ///
  /// Everything else is as without a rule. A prerequisite that is retried or reset after
  /// it has ended takes the task back: a run that goes on is told to stop, and the task
  /// runs again when the prerequisite has ended again.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - rule: When the task runs.
  ///   - context: Where the closure runs; where the workflow's tasks run if left out.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  public func add<each Input: Sendable, Output: Sendable, Context: ExecutionContext>(
    _ name: String, after prerequisites: repeat WorkflowTask<each Input>,
    when rule: TriggerRule, on context: Context = ContextOfTheWorkflow(),
    body: @escaping @Sendable (repeat Result<each Input, any Error>) throws -> Output
  ) throws -> WorkflowTask<Output> {
    let tasks = (repeat each prerequisites)
    return try add(
      BlockWorkflowTask(name: name) { run in
        run.end {
          let ends = (repeat run.end(of: each tasks))
          try run.checkGoesOn()
          return try body(repeat each ends)
        }
      }, Self.list(repeat each prerequisites), when: rule, on: context)
  }

  /// Adds a task that works with how others have ended, asynchronously.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - rule: When the task runs.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  public func add<each Input: Sendable, Output: Sendable>(
    _ name: String, after prerequisites: repeat WorkflowTask<each Input>,
    when rule: TriggerRule,
    body: @escaping @Sendable (repeat Result<each Input, any Error>) async throws -> Output
  ) throws -> WorkflowTask<Output> {
    let tasks = (repeat each prerequisites)
    return try add(
      AsyncWorkflowTask(name: name) { run in
        let ends = (repeat run.end(of: each tasks))
        try run.checkGoesOn()
        return try await body(repeat each ends)
      }, Self.list(repeat each prerequisites), when: rule, on: ContextOfTheWorkflow())
  }

  /// Adds a task that works with its run and with how others have ended.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - rule: When the task runs.
  ///   - context: Where the closure runs; where the workflow's tasks run if left out.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  @_disfavoredOverload
  public func add<each Input: Sendable, Output: Sendable, Context: ExecutionContext>(
    _ name: String, after prerequisites: repeat WorkflowTask<each Input>,
    when rule: TriggerRule, on context: Context = ContextOfTheWorkflow(),
    run body:
      @escaping @Sendable (TaskWork<Output>, repeat Result<each Input, any Error>) throws -> Output
  ) throws -> WorkflowTask<Output> {
    let tasks = (repeat each prerequisites)
    return try add(
      BlockWorkflowTask(name: name) { run in
        run.end {
          let ends = (repeat run.end(of: each tasks))
          try run.checkGoesOn()
          return try body(run, repeat each ends)
        }
      }, Self.list(repeat each prerequisites), when: rule, on: context)
  }

  /// Adds a task that works with its run and with how others have ended, asynchronously.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - rule: When the task runs.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  @_disfavoredOverload
  public func add<each Input: Sendable, Output: Sendable>(
    _ name: String, after prerequisites: repeat WorkflowTask<each Input>,
    when rule: TriggerRule,
    run body:
      @escaping @Sendable (TaskWork<Output>, repeat Result<each Input, any Error>) async throws ->
      Output
  ) throws -> WorkflowTask<Output> {
    let tasks = (repeat each prerequisites)
    return try add(
      AsyncWorkflowTask(name: name) { run in
        let ends = (repeat run.end(of: each tasks))
        try run.checkGoesOn()
        return try await body(run, repeat each ends)
      }, Self.list(repeat each prerequisites), when: rule, on: ContextOfTheWorkflow())
  }

  // MARK: Any number of prerequisites of one type

  /// Adds a task that works with how the tasks of an array have ended.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - rule: When the task runs.
  ///   - context: Where the closure runs; where the workflow's tasks run if left out.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  public func add<Input: Sendable, Output: Sendable, Context: ExecutionContext>(
    _ name: String, after prerequisites: [WorkflowTask<Input>],
    when rule: TriggerRule, on context: Context = ContextOfTheWorkflow(),
    body: @escaping @Sendable ([Result<Input, any Error>]) throws -> Output
  ) throws -> WorkflowTask<Output> {
    try add(
      BlockWorkflowTask(name: name) { run in
        run.end { try body(run.ends(of: prerequisites)) }
      }, prerequisites, when: rule, on: context)
  }

  /// Adds a task that works with how the tasks of an array have ended, asynchronously.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - rule: When the task runs.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  public func add<Input: Sendable, Output: Sendable>(
    _ name: String, after prerequisites: [WorkflowTask<Input>],
    when rule: TriggerRule,
    body: @escaping @Sendable ([Result<Input, any Error>]) async throws -> Output
  ) throws -> WorkflowTask<Output> {
    try add(
      AsyncWorkflowTask(name: name) { run in
        try await body(run.ends(of: prerequisites))
      }, prerequisites, when: rule, on: ContextOfTheWorkflow())
  }

  /// Adds a task that works with its run and with how the tasks of an array have ended.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - rule: When the task runs.
  ///   - context: Where the closure runs; where the workflow's tasks run if left out.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  @_disfavoredOverload
  public func add<Input: Sendable, Output: Sendable, Context: ExecutionContext>(
    _ name: String, after prerequisites: [WorkflowTask<Input>],
    when rule: TriggerRule, on context: Context = ContextOfTheWorkflow(),
    run body: @escaping @Sendable (TaskWork<Output>, [Result<Input, any Error>]) throws -> Output
  ) throws -> WorkflowTask<Output> {
    try add(
      BlockWorkflowTask(name: name) { run in
        run.end { try body(run, run.ends(of: prerequisites)) }
      }, prerequisites, when: rule, on: context)
  }

  /// Adds a task that works with its run and with how the tasks of an array have ended,
  /// asynchronously.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - rule: When the task runs.
  ///   - body: The work.
  /// - Returns: The new task.
  /// - Throws: ``WorkflowError/foreignPrerequisite(_:of:)``.
  @discardableResult
  @_disfavoredOverload
  public func add<Input: Sendable, Output: Sendable>(
    _ name: String, after prerequisites: [WorkflowTask<Input>],
    when rule: TriggerRule,
    run body:
      @escaping @Sendable (TaskWork<Output>, [Result<Input, any Error>]) async throws -> Output
  ) throws -> WorkflowTask<Output> {
    try add(
      AsyncWorkflowTask(name: name) { run in
        try await body(run, run.ends(of: prerequisites))
      }, prerequisites, when: rule, on: ContextOfTheWorkflow())
  }
}

extension TaskWork {
  /// How the prerequisites of the task have ended.
  ///
  /// - Throws: If the run does not go on.
  fileprivate func ends<Input>(
    of prerequisites: [WorkflowTask<Input>]
  ) throws -> [Result<Input, any Error>] {
    let ends = prerequisites.map { end(of: $0) }
    try checkGoesOn()
    return ends
  }

  /// How a prerequisite of the task has ended; only to be used if ``checkGoesOn()`` then
  /// says that the run goes on.
  fileprivate func end<Input>(of prerequisite: WorkflowTask<Input>) -> Result<Input, any Error> {
    let end = prerequisite.core?.read { state -> Result<Input, any Error>? in
      switch state.graph[prerequisite.index].state {
      case .finished: prerequisite.stored.map { .success($0) }
      case .failed: state.error(of: prerequisite).map { .failure($0) }
      case .cancelled: .failure(CancellationError())
      case .skipped: .failure(TaskSkipped())
      case .pending, .ready, .executing: nil
      }
    }
    return (end ?? nil) ?? .failure(WorkflowError.noResult(of: prerequisite))
  }
}
