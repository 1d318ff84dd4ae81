import Foundation
import Futures

extension Conditions {
  /// A condition that is always met.
  public struct Empty: TaskCondition {
    /// Makes the condition.
    public init() {}

    /// Says yes.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) { completion(.success) }
  }

  /// Keeps the tasks of one category from running at the same time.
  ///
  /// Tasks of a category run one after the other, whatever queues they are in. Of those
  /// that could run now, the one that was added first goes first. The category is the
  /// type: two types of the same name are two categories. A task may belong to several
  /// categories; it takes all of them, and its slot, in one step when it begins to
  /// execute, and gives them back when its work has returned. While it waits it holds
  /// nothing: a task that cannot run (its queue is busy, suspended or behind a barrier,
  /// another of its categories is taken) keeps its place and holds up no other.
  ///
  /// A group that excludes its own members would wait for itself: the member
  /// fails with ``ProducerTaskError/cycle(path:)``.
  ///
  /// Where there is one thing for each of many names, say which: tasks with the
  /// condition `MutuallyExclusive(Folder.self, key: path)` exclude those for the
  /// same path only. (A key is no part of the category without one.)
  public struct MutuallyExclusive<Category>: TaskCondition {
    private let key: String?

    /// Makes the condition.
    public init() { key = nil }

    /// Makes the condition of a category: `MutuallyExclusive(Printer.self)`.
    ///
    /// - Parameters:
    ///   - category: The type that stands for the category.
    ///   - key: Which of the things that the type stands for; `nil` if it stands
    ///     for one.
    public init(_ category: Category.Type, key: String? = nil) { self.key = key }

    /// The one category.
    public var categories: [TaskCategory] { [TaskCategory(Category.self, key: key)] }

    /// Says yes; the exclusion is in the categories.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) { completion(.success) }
  }

  /// Met unless a dependency of the task was cancelled.
  public struct NoCancelledDependencies: TaskCondition {
    /// Why the condition is not met.
    public enum Error: Swift.Error, Equatable, LocalizedError {
      /// A direct dependency was cancelled.
      case haveCancelledFailure

      /// What happened, and what to do about it.
      public var errorDescription: String? {
        "A dependency of the task was cancelled. Remove the condition if the task should run all "
          + "the same."
      }
    }

    /// Makes the condition.
    public init() {}

    /// Looks at the task's direct dependencies.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Error>) -> Void
    ) {
      let isCancelled = task.dependencies.contains { $0.isCancelled }
      completion(isCancelled ? .failure(.haveCancelledFailure) : .success)
    }
  }

  /// Met when another condition is not.
  ///
  /// The dependency and the categories of the other one are kept.
  public struct Negated<Base: TaskCondition>: TaskCondition {
    /// Why the condition is not met.
    public enum Error: Swift.Error, Equatable, LocalizedError {
      /// The other condition is met.
      case reverseFailure

      /// What happened, and what to do about it.
      public var errorDescription: String? {
        "A condition was met that had to be unmet for the task to run."
      }
    }

    /// The other condition.
    public let condition: Base

    /// Turns a condition round.
    ///
    /// - Parameter condition: The other condition.
    public init(_ condition: Base) { self.condition = condition }

    /// The other condition's categories.
    public var categories: [TaskCategory] { condition.categories }

    /// The other condition's dependency.
    public func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask? {
      condition.dependency(for: task)
    }

    /// Turns the answer round.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Error>) -> Void
    ) {
      condition.evaluate(for: task) { answer in
        switch answer {
        case .success: completion(.failure(.reverseFailure))
        case .failure: completion(.success)
        }
      }
    }
  }

  /// Another condition without its dependency: it is asked, and nothing is done
  /// to make it come true.
  public struct Silent<Base: TaskCondition>: TaskCondition {
    /// The other condition.
    public let condition: Base

    /// Leaves the dependency of a condition away.
    ///
    /// - Parameter condition: The other condition.
    public init(_ condition: Base) { self.condition = condition }

    /// The other condition's categories.
    public var categories: [TaskCategory] { condition.categories }

    /// Asks the other condition.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Base.Failure>) -> Void
    ) { condition.evaluate(for: task, completion: completion) }
  }

  /// Met some time after it was asked.
  ///
  /// The task holds no slot meanwhile. Cancelling it ends the wait.
  public struct Delay: TaskCondition {
    private let duration: Duration

    /// Makes the condition.
    ///
    /// - Parameter duration: How long the task has to wait; not at all if
    ///   negative.
    public init(_ duration: Duration) { self.duration = duration }

    /// Says yes when the time has come.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) {
      guard duration > .zero else { return completion(.success) }
      let timer = Promises.delay(for: duration)
        .onSuccess(on: .inline) { completion(.success) }
      task.taskCore?.addCancellationHandler(to: task) { timer.cancel() }
    }
  }
}

/// A condition made of a closure.
///
/// ```swift
/// task.addCondition(BlockCondition { task in diskHasSpace() })
/// ```
public struct BlockCondition: TaskCondition {
  /// The closure returned `false`.
  public struct Unmet: Error, Equatable, LocalizedError {
    /// The name of the condition.
    public let name: String

    /// What happened, and what to do about it.
    public var errorDescription: String? {
      "The condition \"\(name)\" was not met. Add a new task when it is."
    }
  }

  /// Why the condition is not met.
  public typealias Failure = any Error
  private let body:
    @Sendable (AnyFuture, @escaping @Sendable (Result<Void, any Error>) -> Void) -> Void

  /// Makes a condition that is met when a closure returns `true`.
  ///
  /// - Parameters:
  ///   - name: A name for people; it appears in the error.
  ///   - isMet: Gets the task; what it throws is why the condition is not met.
  public init(
    name: String = "block", _ isMet: @escaping @Sendable (AnyFuture) throws -> Bool
  ) {
    body = { task, completion in
      completion(Result { if try !isMet(task) { throw Unmet(name: name) } })
    }
  }

  /// Makes a condition of a closure that answers later.
  ///
  /// - Parameter evaluate: Gets the task, and what takes the answer.
  public init(
    evaluate:
      @escaping @Sendable (
        AnyFuture, @escaping @Sendable (Result<Void, any Error>) -> Void
      ) -> Void
  ) {
    body = evaluate
  }

  /// Asks the closure.
  public func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { body(task, completion) }
}
