extension WorkflowTask where Output: Codable {
  /// Records the task's result in the journal of its workflow, if the workflow has one.
  ///
  /// A recorded task is finished when
  /// ``Workflow/resume(from:onMismatch:)-(WorkflowJournal,_)`` finds its record. Without this
  /// call the task is never recorded: it runs in every process. A recorded task stays
  /// finished even if it depends on an unrecorded task that runs again.
  ///
  /// The result is kept as JSON. JSON has one `null`, so a result of an optional of an
  /// optional that is `.some(nil)` comes back as `nil`.
  ///
  /// Call it before the task runs; in a running workflow, before the task is added.
  ///
  /// - Parameters:
  ///   - identifier: The identifier of the record. It must be the same in every start of
  ///     the program, and must differ from those of all other tasks of the workflow, of
  ///     the workflow around it and of the workflows inside it. It is independent of the
  ///     task's name.
  ///   - version: The version of the work. Raise it when a result of an earlier version
  ///     of the program would be wrong: a record of another version is not valid.
  /// - Returns: The task.
  @discardableResult
  public func journaled(as identifier: String, version: Int = 1) -> Self {
    setJournaling(CodableResult<Output>(identifier: identifier, version: version))
    return self
  }
}

extension WorkflowTask where Output == Void {
  /// Records in the journal of the task's workflow that the task has finished.
  ///
  /// Call it before the task runs; in a running workflow, before the task is added.
  ///
  /// - Parameters:
  ///   - identifier: The identifier of the record; see the same method of tasks with a
  ///     result.
  ///   - version: The version of the work.
  /// - Returns: The task.
  @discardableResult
  public func journaled(as identifier: String, version: Int = 1) -> Self {
    setJournaling(NoResult(identifier: identifier, version: version))
    return self
  }
}

extension AnyWorkflowTask {
  fileprivate func setJournaling(_ journaling: any JournaledResult) {
    settingsMade.set { $0.journaling = journaling }
    guard let wanted = self.journaling else { return }
    core?.change { $0.journal?.add(wanted, for: index) }
  }
}
