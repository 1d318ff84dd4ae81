import Futures

// Tasks that also run after a failure receive the ends of their prerequisites: results
// and errors. The forms are those of `Workflow+TypedInputs.swift`, with a rule and with
// `Result`s.

extension Workflow {
  // MARK: Prerequisites of several types

  /// Adds a task whose closure receives the ends of its prerequisites.
  ///
  /// The closure receives a `Result` for each prerequisite, in the same order: its
  /// result; its error if it has failed; `CancellationError` if it was cancelled;
  /// ``TaskSkipped`` if it was skipped; ``WorkflowError/noResult(of:)`` if it waits in
  /// vain for a task that has failed or was cancelled.
  ///
  /// ```swift
  /// let upload = try workflow.add("upload", after: report) { report in try await send(report) }
  /// try workflow.add("clean up", after: upload, when: .whenAllDone) { upload in
  ///   if case .failure(let error) = upload { log("not sent: \(error)") }
  ///   removeTemporaryFiles()
  /// }
  /// ```
  ///
  /// Everything else is as in the form without a rule. If a prerequisite is retried or
  /// reset after it has ended, the task is reset: an executing run is told to stop, and
  /// the task runs again when the prerequisite has ended again. The ends are therefore ends of
  /// the same moment, except that a prerequisite that waits in vain may be cancelled while the
  /// ends of others are read.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - rule: The rule that decides whether the task runs.
  ///   - context: The context in which the closure runs; by default the workflow's.
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

  /// Adds a task whose async closure receives the ends of its prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - rule: The rule that decides whether the task runs.
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

  /// Adds a task whose closure receives its run and the ends of its prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - rule: The rule that decides whether the task runs.
  ///   - context: The context in which the closure runs; by default the workflow's.
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

  /// Adds a task whose async closure receives its run and the ends of its prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow, of any kind and number.
  ///   - rule: The rule that decides whether the task runs.
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

  /// Adds a task whose closure receives the ends of an array of prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - rule: The rule that decides whether the task runs.
  ///   - context: The context in which the closure runs; by default the workflow's.
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

  /// Adds a task whose async closure receives the ends of an array of prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - rule: The rule that decides whether the task runs.
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

  /// Adds a task whose closure receives its run and the ends of an array of
  /// prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - rule: The rule that decides whether the task runs.
  ///   - context: The context in which the closure runs; by default the workflow's.
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

  /// Adds a task whose async closure receives its run and the ends of an array of
  /// prerequisites.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - prerequisites: Tasks of this workflow.
  ///   - rule: The rule that decides whether the task runs.
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
  /// Returns the ends of the task's prerequisites.
  ///
  /// - Throws: `CancellationError` if the run is over.
  fileprivate func ends<Input>(
    of prerequisites: [WorkflowTask<Input>]
  ) throws -> [Result<Input, any Error>] {
    let ends = prerequisites.map { end(of: $0) }
    try checkGoesOn()
    return ends
  }

  /// Returns the end of a prerequisite.
  ///
  /// The value is valid only if a later ``checkGoesOn()`` does not throw.
  fileprivate func end<Input>(of prerequisite: WorkflowTask<Input>) -> Result<Input, any Error> {
    let end = prerequisite.core?.read { prerequisite.end(in: $0) }
    return (end ?? nil) ?? .failure(WorkflowError.noResult(of: prerequisite))
  }
}
