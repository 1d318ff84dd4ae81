extension WorkflowTask where Output: Codable {
  /// Has the task's result recorded in the journal of its workflow, if that has one.
  ///
  /// A recorded task is finished when ``Workflow/resume(from:onMismatch:)`` finds its
  /// record. Without this the task is never recorded: it runs in every process. If it
  /// has to run again and a recorded task depends on it, that one stays finished all
  /// the same.
  ///
  /// Call it before the task runs; in a workflow that is running, before the task is
  /// added.
  ///
  /// - Parameters:
  ///   - identifier: What the record is known by. It must be the same in every start of
  ///     the program, and belong to no other task of the workflow, of the workflow
  ///     around it, or of the workflows inside it. The task's name has nothing to do
  ///     with it.
  ///   - version: Which version of the work it is. Raise it when a result of an earlier
  ///     version of the program would be wrong: the record of another version does not
  ///     count.
  /// - Returns: The task.
  @discardableResult
  public func journaled(as identifier: String, version: Int = 1) -> Self {
    setJournaling(CodableResult<Output>(identifier: identifier, version: version))
    return self
  }
}

extension WorkflowTask where Output == Void {
  /// Has the journal of the task's workflow record that the task has finished.
  ///
  /// Call it before the task runs; in a workflow that is running, before the task is
  /// added.
  ///
  /// - Parameters:
  ///   - identifier: What the record is known by; see the same method of tasks that
  ///     have a result.
  ///   - version: Which version of the work it is.
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
