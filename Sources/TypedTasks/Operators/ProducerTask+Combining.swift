import Foundation
import Futures

extension ProducerTask {
  /// Waits for this task and other tasks, and takes all their values.
  ///
  /// ```swift
  /// queue.addTask(profile.zip(albums, friends).map { profile, albums, friends in 3 })
  /// ```
  ///
  /// All tasks run at the same time. If any of them fails, the result is the failure of
  /// the first failed task in the order of the arguments. It is there when all have
  /// finished. The quality of service and the priority are the highest of all.
  ///
  /// - Parameter others: Any number of tasks with the same type of failure, or that cannot fail.
  @_disfavoredOverload
  public final func zip<each Other: Sendable>(
    _ others: repeat ProducerTask<each Other, Failure>,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<(Output, repeat each Other), Failure> {
    zipping(repeat each others, at: Birthplace(fileID, line))
  }

  /// Makes the operator of a `zip`; this task is its first member.
  final func zipping<each Other: Sendable, OtherFailure: Error, NewFailure: Error>(
    _ others: repeat ProducerTask<each Other, OtherFailure>, at birthplace: Birthplace
  ) -> ProducerTask<(Output, repeat each Other), NewFailure> {
    var members: [AnyFuture] = [self]
    repeat members.append(each others)
    return OperatorTask(joining: members, "zip", at: birthplace) { task, members in
      if let failure = firstFailure(members, NewFailure.self) { return task.fail(with: failure) }
      var rest = members[...]
      task.succeed(with: (rest.take(Output.self), repeat rest.take((each Other).self)))
    }
  }

  /// Takes the result of the first task that succeeds.
  ///
  /// The other tasks are cancelled then, apart from those that have other consumers or that you
  /// have added to a queue yourself. If no task succeeds, the result is the failure of the first
  /// task in the order of the arguments.
  ///
  /// - Parameter others: The other tasks.
  public final func firstOf(
    _ others: ProducerTask<Output, Failure>...,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<Output, Failure> {
    Tasks.firstOf([self] + others, fileID: fileID, line: line)
  }

  /// Collects the values of this task and others, in their order.
  ///
  /// - Parameter others: The other tasks.
  public final func collect(
    with others: ProducerTask<Output, Failure>...,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<[Output], Failure> {
    Tasks.collect([self] + others, fileID: fileID, line: line)
  }

  /// Makes an operator that several other operators can use as their upstream.
  ///
  /// Any task can have several downstream operators: it runs once, and all of them get
  /// its result. The shared operator stands between this task and them: this task is
  /// asked to cancel only when everything downstream of the operator has been cancelled.
  public final func share() -> ProducerTask<Output, Failure> {
    stage("share", .success) { task, source in task.succeed(with: source.settledValue) }
  }

  /// This task, without its subclass.
  public final func eraseToProducerTask() -> ProducerTask<Output, Failure> { self }
}

extension Tasks {
  /// Waits for several tasks, and takes their values in their order.
  ///
  /// Without tasks, the value is empty. If any task fails, the result is the failure of
  /// the first failed task in their order.
  ///
  /// - Parameter tasks: The tasks.
  /// - Complexity: O(n) in the number of tasks.
  public static func collect<Output: Sendable, Failure: Error>(
    _ tasks: [ProducerTask<Output, Failure>],
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<[Output], Failure> {
    OperatorTask(joining: tasks, "collect", at: Birthplace(fileID, line)) { task, members in
      if let failure = firstFailure(members, Failure.self) { return task.fail(with: failure) }
      task.succeed(
        with: members.map { unsafeDowncast($0, to: Future<Output>.self).settledValue })
    }
  }

  /// Waits for several tasks, and combines their values into one value.
  ///
  /// - Parameters:
  ///   - tasks: The tasks.
  ///   - initial: The initial value.
  ///   - combine: Adds the next value, in the order of the tasks.
  public static func reduce<Output: Sendable, Failure: Error, Total: Sendable>(
    _ tasks: [ProducerTask<Output, Failure>], _ initial: Total,
    _ combine: @escaping @Sendable (Total, Output) -> Total
  ) -> ProducerTask<Total, Failure> { collect(tasks).map { $0.reduce(initial, combine) } }

  /// Takes the result of the first of several tasks that succeeds.
  ///
  /// See ``ProducerTask/firstOf(_:fileID:line:)``. Without tasks, the result is a failure
  /// with ``ProducerTaskError/nilOutput``.
  ///
  /// - Parameter tasks: The tasks.
  public static func firstOf<Output: Sendable, Failure: Error>(
    _ tasks: [ProducerTask<Output, Failure>],
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<Output, Failure> {
    OperatorTask<Output, Failure>(
      joining: tasks, "firstOf", isRace: true, at: Birthplace(fileID, line)
    ) { task, members in
      // No task has succeeded: the operator would have settled like the first that did.
      task.fail(
        with: firstFailure(members, Failure.self) ?? .internal(ProducerTaskError.nilOutput))
    }
  }
}

/// The failure of the first member, in their order, that has failed.
private func firstFailure<Failure: Error>(
  _ members: [AnyFuture], _ type: Failure.Type
) -> ProducerTaskProtocolError<Failure>? {
  members.lazy.compactMap(\.anyError).first.map { ProducerTaskProtocolError(of: $0) }
}

extension ArraySlice<AnyFuture> {
  /// Removes the first future, which has succeeded, and returns its value.
  fileprivate mutating func take<Value: Sendable>(_ type: Value.Type) -> Value {
    unsafeDowncast(removeFirst(), to: Future<Value>.self).settledValue
  }
}

extension OperatorTask {
  /// Makes an operator downstream of several tasks; its closure gets all of them.
  ///
  /// - Parameter isRace: Whether the operator settles like the first member that succeeds.
  convenience init(
    joining members: [AnyFuture], _ label: StaticString, isRace: Bool = false,
    at birthplace: Birthplace,
    _ work: @escaping @Sendable (OperatorTask, [AnyFuture]) -> Void
  ) {
    let core = OperatorCore<Output, Failure>(.always, isJoin: true)
    self.init(
      label, below: nil, core: core,
      work: Work { task, _ in
        let task = unsafeDowncast(task, to: OperatorTask.self)
        // Not captured: only the core keeps the members, and lets go of them without
        // recursion.
        let members = task.core.sources
        // A race for the end: a task that has settled has no members any more.
        if !task.isSettled { work(task, members) }
      }, at: birthplace)
    core.state.withLock { state in
      state.more.sources = members
      state.isRace = isRace
    }
    for member in members { member.taskCore?.branches.wrappingAdd(1, ordering: .relaxed) }
    let qos = members.map(\.qualityOfService).max { $0.urgency < $1.urgency }
    let priority = members.map(\.queuePriority).max { $0.rawValue < $1.rawValue }
    setScheduling(qos: qos ?? .default, priority: priority ?? .normal)
  }
}

extension QualityOfService {
  /// The urgency of the work; the raw values are not in this order everywhere.
  var urgency: Int {
    switch self {
    case .userInteractive: 4
    case .userInitiated: 3
    case .default: 2
    case .utility: 1
    case .background: 0
    @unknown default: 2
    }
  }
}
