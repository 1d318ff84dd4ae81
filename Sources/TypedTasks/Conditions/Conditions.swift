import Foundation
import Futures

extension Conditions {
  /// A condition that is always met.
  public struct Empty: TaskCondition, ConditionOfTheLibrary {
    /// Makes the condition.
    public init() {}

    /// Answers at once that the condition is met.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) { completion(.success) }
  }

  /// Keeps the tasks of one category from running at the same time.
  ///
  /// Tasks of a category run one after the other, whatever queues they are in. Among the
  /// tasks that could run now, the task that was added first runs first. The category is
  /// the type: two types of the same name are two categories.
  ///
  /// A task may belong to several categories. It takes all of them and its slot in one
  /// step when it begins to execute, and gives them back when its work has returned. A
  /// waiting task holds nothing. A task may be unable to run because its queue is busy,
  /// suspended or behind a barrier, or because another of its categories is taken. It
  /// then keeps its place and holds up no other task.
  ///
  /// A group and its own member must not exclude each other: they would wait for each
  /// other, so the member fails with ``ProducerTaskError/cycle(path:)``.
  ///
  /// If one type stands for many things, add a key: tasks with the condition
  /// `MutuallyExclusive(Folder.self, key: path)` exclude only tasks for the same path. A
  /// category with a key does not exclude the category without a key.
  public struct MutuallyExclusive<Category>: TaskCondition, ConditionOfTheLibrary {
    private let key: String?

    /// Makes the condition.
    public init() { key = nil }

    /// Makes the condition of a category: `MutuallyExclusive(Printer.self)`.
    ///
    /// - Parameters:
    ///   - category: The type that stands for the category.
    ///   - key: Names one of the things that the type stands for; `nil` if it stands for
    ///     one.
    public init(_ category: Category.Type, key: String? = nil) { self.key = key }

    /// The category of this condition.
    public var categories: [TaskCategory] { [TaskCategory(Category.self, key: key)] }

    /// Answers at once that the condition is met; the categories do the exclusion.
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

      /// A message that says what happened and what to do.
      public var errorDescription: String? {
        "A dependency of the task was cancelled. Remove the condition if the task should run "
          + "anyway."
      }
    }

    /// Makes the condition.
    public init() {}

    /// Examines the task's direct dependencies.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Error>) -> Void
    ) {
      let isCancelled = task.dependencies.contains { $0.isCancelled }
      completion(isCancelled ? .failure(.haveCancelledFailure) : .success)
    }
  }

  /// Met when another condition is not met.
  ///
  /// It keeps the dependency and the categories of the other condition.
  public struct Negated<Base: TaskCondition>: TaskCondition, ConditionOfTheLibrary {
    /// Why the condition is not met.
    public enum Error: Swift.Error, Equatable, LocalizedError {
      /// The other condition is met.
      case reverseFailure

      /// A message that says what happened and what to do.
      public var errorDescription: String? {
        "The task runs only if a condition is not met, but it was met."
      }
    }

    /// The other condition.
    public let condition: Base

    /// Negates a condition.
    ///
    /// - Parameter condition: The other condition.
    public init(_ condition: Base) { self.condition = condition }

    var isAskedInPlace: Bool { isAskable(condition) }

    /// The other condition's categories.
    public var categories: [TaskCategory] { condition.categories }

    /// The other condition's dependency.
    public func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask? {
      condition.dependency(for: task)
    }

    /// Negates the answer of the other condition.
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

  /// A condition without its dependency: it is evaluated, but no task runs to make it
  /// true.
  public struct Silent<Base: TaskCondition>: TaskCondition, ConditionOfTheLibrary {
    /// The other condition.
    public let condition: Base

    /// Removes the dependency from a condition.
    ///
    /// - Parameter condition: The other condition.
    public init(_ condition: Base) { self.condition = condition }

    var isAskedInPlace: Bool { isAskable(condition) }

    /// The other condition's categories.
    public var categories: [TaskCategory] { condition.categories }

    /// Evaluates the other condition.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Base.Failure>) -> Void
    ) { condition.evaluate(for: task, completion: completion) }
  }

  /// Makes the task wait for a time before it runs.
  ///
  /// The task holds no slot during the wait. Cancelling the task ends the wait.
  public struct Delay: TaskCondition, ConditionOfTheLibrary {
    private let duration: Duration
    private let clock: any Clock<Duration>

    /// Makes the condition.
    ///
    /// - Parameters:
    ///   - duration: How long the task waits; a negative duration is no wait.
    ///   - clock: The clock that measures the time; a `ManualClock` in tests. If its `sleep`
    ///     throws, the time counts as over.
    public init(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) {
      self.duration = duration
      self.clock = clock
    }

    /// Makes the condition.
    ///
    /// - Parameter interval: How long the task waits.
    @_disfavoredOverload
    public init(_ interval: DispatchTimeInterval) { self.init(Duration(interval)) }

    /// Answers after the duration that the condition is met.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) {
      guard duration > .zero else { return completion(.success) }
      Promises.delay(for: duration, clock: clock).answer(for: task) { _ in completion(.success) }
    }
  }
}

/// A condition that a closure evaluates.
///
/// ```swift
/// task.addCondition(BlockCondition { task in diskHasSpace() })
/// task.addCondition(BlockCondition { task in try await server.isReady() })
/// ```
public struct BlockCondition: TaskCondition {
  /// The closure returned `false`.
  public struct Unmet: Error, Equatable, LocalizedError {
    /// The name of the condition.
    public let name: String

    /// A message that says what happened and what to do.
    public var errorDescription: String? {
      "The condition \"\(name)\" was not met. Add a new task when it is."
    }
  }

  /// Why the condition is not met.
  public typealias Failure = any Error
  private let body:
    @Sendable (AnyFuture, @escaping @Sendable (Result<Void, any Error>) -> Void) -> Void

  /// Makes a condition that is met if a closure returns `true`.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; it appears in the error.
  ///   - isMet: Gets the task. An error that it throws is the reason why the condition is
  ///     not met.
  public init(
    name: String = "block", _ isMet: @escaping @Sendable (AnyFuture) throws -> Bool
  ) {
    body = { task, completion in
      completion(Result { if try !isMet(task) { throw Unmet(name: name) } })
    }
  }

  /// Makes a condition that is met if an async closure returns `true`.
  ///
  /// The closure runs in a Swift task. If the task of the condition ends before, the Swift
  /// task is cancelled. If the closure awaits a future or a task that cannot settle without
  /// the task of the condition, the await throws `ProperationsError.cycle`.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; it appears in the error.
  ///   - isMet: Gets the task. An error that it throws is the reason why the condition is
  ///     not met.
  @_disfavoredOverload
  public init(
    name: String = "block", _ isMet: @escaping @Sendable (AnyFuture) async throws -> Bool
  ) {
    body = { task, completion in
      // The task waits for what the closure awaits.
      let holder = SlotHolder(keptBy: task, in: nil, isWork: false)
      let answer = Promises.async { () async -> Result<Void, any Error> in
        do {
          let isMet = try await holder.run { try await isMet(task) }
          return isMet ? .success : .failure(Unmet(name: name))
        } catch {
          return .failure(error)
        }
      }
      answer.answer(for: task) { result in completion(result.flatMap { $0 }) }
    }
  }

  /// Makes a condition from a closure that may answer later.
  ///
  /// - Parameter evaluate: Gets the task, and a closure that takes the answer.
  public init(
    evaluate:
      @escaping @Sendable (
        AnyFuture, @escaping @Sendable (Result<Void, any Error>) -> Void
      ) -> Void
  ) {
    body = evaluate
  }

  /// Calls the closure.
  public func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { body(task, completion) }
}
