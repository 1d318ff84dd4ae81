import Futures

// All of these are empty for a task that is in no workflow or whose workflow has been
// released. Their order is that in which the prerequisites were given.

extension AnyWorkflowTask {
  /// The tasks that have to finish before this one runs, keyed ones included.
  public final var prerequisiteTasks: [AnyWorkflowTask] {
    core?.read { state in
      state.isReleased ? [] : state.graph.prerequisites(of: index).map { state.tasks[Int($0)] }
    } ?? []
  }

  /// The tasks that have this one as a prerequisite.
  public final var dependentTasks: [AnyWorkflowTask] {
    core?.read { state in
      state.isReleased ? [] : state.graph.dependents(of: index).map { state.tasks[Int($0)] }
    } ?? []
  }

  /// The prerequisites that have keys, by key; typed keys appear as their names.
  ///
  /// To read one result, use ``prerequisiteResult(forKey:)`` or ``result(forKey:)``.
  ///
  /// - Complexity: O(the number of the task's prerequisites).
  public final var keyedPrerequisiteTasks: [AnyHashable: AnyWorkflowTask] {
    core?.read { state in
      // Hashes no key, so that no user code runs.
      state.isReleased ? [:] : (state.keys[index] ?? [:]).mapValues { state.tasks[Int($0)] }
    } ?? [:]
  }

  /// The prerequisites that have no key.
  public final var unkeyedPrerequisiteTasks: [AnyWorkflowTask] {
    core?.read { state in
      guard !state.isReleased else { return [] }
      let keyed = Set(state.keys[index].map { Array($0.values) } ?? [])
      return state.graph.prerequisites(of: index).filter { !keyed.contains($0) }
        .map { state.tasks[Int($0)] }
    } ?? []
  }

  /// The rule that decides, from the ends of the prerequisites, whether the task runs.
  ///
  /// It is set when the task is added; before that it is ``TriggerRule/whenAllSucceed``.
  public final var triggerRule: TriggerRule {
    core?.read { $0.graph[index].rule } ?? .whenAllSucceed
  }

  /// Returns the prerequisite with a key, if there is one.
  private func prerequisite(forKey key: AnyHashable) -> AnyWorkflowTask? {
    // Hashing a key may run user code. So the key is looked up in a copy, without the lock.
    guard let core, let index = core.read({ $0.keys[index] })?[key] else { return nil }
    return core.read { $0.isReleased ? nil : $0.tasks[Int(index)] }
  }

  // MARK: Typed results

  /// Returns the result of a prerequisite.
  ///
  /// - Parameter prerequisite: One of the task's prerequisites.
  /// - Throws: ``WorkflowError/notAPrerequisite(_:of:)`` if the given task is no
  ///   prerequisite; ``WorkflowError/noResult(of:)`` if it has not finished.
  /// - Complexity: O(the number of the task's prerequisites, or of the prerequisite's
  ///   dependents, whichever is less).
  public final func result<Output>(of prerequisite: WorkflowTask<Output>) throws -> Output {
    guard let core, prerequisite.core === core else {
      throw WorkflowError.notAPrerequisite(prerequisite, of: self)
    }
    let (isPrerequisite, result) = core.read { state in
      (
        state.graph.hasEdge(from: prerequisite.index, to: index),
        state.graph[prerequisite.index].state == .finished ? prerequisite.stored : nil
      )
    }
    guard isPrerequisite else { throw WorkflowError.notAPrerequisite(prerequisite, of: self) }
    guard let result else { throw WorkflowError.noResult(of: prerequisite) }
    return result
  }

  /// Returns the result of the prerequisite with a key.
  ///
  /// - Parameter key: The key. As when the task is added, its type must be exactly the
  ///   type of the prerequisite's result: not an optional of it, a superclass or a
  ///   protocol.
  /// - Throws: ``WorkflowError/unknownPrerequisiteKey(_:of:)`` if no prerequisite has the
  ///   key; ``WorkflowError/wrongPrerequisiteType(key:prerequisite:expected:of:)`` if its
  ///   result is of another type, which is impossible if the task was added with this
  ///   very key; ``WorkflowError/noResult(of:)`` if it has not finished.
  /// - Complexity: O(1).
  public final func result<Output>(forKey key: PrerequisiteKey<Output>) throws -> Output {
    guard let task = prerequisite(forKey: AnyHashable(key.name)) else {
      throw WorkflowError.unknownPrerequisiteKey(key.name, of: self)
    }
    guard let task = task as? WorkflowTask<Output> else {
      throw WorkflowError.wrongPrerequisiteType(
        key: key.name, prerequisite: task, expected: String(describing: Output.self), of: self)
    }
    guard let result = task.result else { throw WorkflowError.noResult(of: task) }
    return result
  }

  // MARK: Untyped results

  /// The result of the first prerequisite, if it has finished.
  ///
  /// Intended for tasks with one prerequisite.
  public final var anyPrerequisiteResult: (any Sendable)? { prerequisiteTasks.first?.anyResult }

  /// The results of all prerequisites, one entry for each; `nil` for one that has not
  /// finished.
  public final var allPrerequisiteResults: [(any Sendable)?] { prerequisiteTasks.map(\.anyResult) }

  /// The results of the prerequisites that have no key, one entry for each.
  public final var allUnkeyedPrerequisiteResults: [(any Sendable)?] {
    unkeyedPrerequisiteTasks.map(\.anyResult)
  }

  /// The results of the prerequisites that have keys, one entry for each.
  ///
  /// - Complexity: O(the number of the task's prerequisites).
  public final var keyedPrerequisiteResults: [AnyHashable: (any Sendable)?] {
    keyedPrerequisiteTasks.mapValues { .some($0.anyResult) }
  }

  /// The results of all prerequisites by task, one entry for each.
  public final var prerequisiteResultsByTask: [AnyWorkflowTask: (any Sendable)?] {
    Dictionary(prerequisiteTasks.map { ($0, .some($0.anyResult)) }) { first, _ in first }
  }

  /// Returns the result of the prerequisite with a key.
  ///
  /// - Parameter key: The key; a typed key counts as its name.
  /// - Returns: `nil` if no prerequisite has the key, or if it has not finished.
  /// - Complexity: O(1).
  public final func prerequisiteResult(forKey key: AnyHashable) -> (any Sendable)? {
    prerequisite(forKey: key.plainKey)?.anyResult
  }
}
