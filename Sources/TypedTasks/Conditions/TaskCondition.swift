import Foundation
import Futures

/// A requirement that must be met before a task runs.
///
/// A condition is evaluated once, when all dependencies of its task have finished and no
/// barrier holds the task back. Your conditions are evaluated in the background, on a serial
/// dispatch queue that is made for the conditions of this task, and never on the thread that
/// adds the task or finishes a dependency. So they may block. A condition may answer later, on
/// any thread; until then the task waits and holds no slot. A condition that is not met keeps
/// the task from executing. Conditions are released when their task has finished.
///
/// Conditions of the library that do not block are evaluated first, on the thread that adds the
/// task or finishes a dependency. The hash of a key of ``Conditions/Rate`` and the clock of
/// ``Conditions/Delay`` are asked there.
///
/// ```swift
/// struct FileExists: TaskCondition {
///   let path: String
///
///   func evaluate<T: ProducerTaskProtocol>(
///     for task: T, completion: @escaping @Sendable (Result<Void, CocoaError>) -> Void
///   ) {
///     let exists = FileManager.default.fileExists(atPath: path)
///     completion(exists ? .success : .failure(CocoaError(.fileNoSuchFile)))
///   }
/// }
/// ```
public protocol TaskCondition: Sendable {
  /// Why the condition is not met; `Never` if it is always met.
  associatedtype Failure: Error

  /// The categories of which only one task runs at a time; empty by default.
  ///
  /// See ``Conditions/MutuallyExclusive``.
  var categories: [TaskCategory] { get }

  /// Returns a task that has to run first, and may make the condition true.
  ///
  /// The task of the condition waits for the returned task before the condition is
  /// evaluated. The library puts the returned task in the same queue. The default is
  /// `nil`.
  ///
  /// - Parameter task: The task that is being enqueued.
  func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask?

  /// Evaluates the condition.
  ///
  /// - Parameters:
  ///   - task: The task that the condition belongs to.
  ///   - completion: Takes the answer. Only the first answer counts. A task whose
  ///     condition never answers can still be cancelled.
  func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, Failure>) -> Void)
}

extension TaskCondition {
  /// No categories.
  public var categories: [TaskCategory] { [] }

  /// Returns `nil`: no task has to run first.
  public func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask? { nil }
}

/// Identifies tasks that exclude one another: a type, and a key if one type stands for
/// many things.
///
/// Two categories are equal if their types and their keys are the same. The names of the
/// types do not matter.
public struct TaskCategory: Sendable, Hashable, CustomStringConvertible {
  let id: ObjectIdentifier
  // A string, not a value of a user's type: it is hashed and compared while a lock is
  // held.
  let key: String?
  /// The name of the type, and the key if there is one.
  public let description: String

  /// Makes the category of a type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - key: Names one of the things that the type stands for; `nil` if it stands for
  ///     one.
  public init<Category>(_ type: Category.Type, key: String? = nil) {
    id = ObjectIdentifier(type)
    self.key = key
    description = key.map { "\(type)(\($0))" } ?? String(describing: type)
  }

  /// Compares the types and the keys.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.id == rhs.id && lhs.key == rhs.key
  }

  /// Hashes the type and the key.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(key)
  }
}

/// A condition of any type.
public struct AnyCondition: TaskCondition, ConditionOfTheLibrary {
  /// Why the condition is not met.
  public typealias Failure = any Error

  /// The wrapped condition.
  public let base: any TaskCondition

  /// Wraps a condition.
  ///
  /// - Parameter condition: The condition; a wrapped condition is not wrapped again.
  public init<Condition: TaskCondition>(_ condition: Condition) {
    base = (condition as? AnyCondition)?.base ?? condition
  }

  var isAskedInPlace: Bool { isAskable(base) }

  /// The categories of the wrapped condition.
  public var categories: [TaskCategory] { base.categories }

  /// The dependency of the wrapped condition.
  public func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask? {
    base.dependency(for: task)
  }

  /// Evaluates the wrapped condition.
  public func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    Self.evaluate(base, for: task, completion)
  }

  private static func evaluate<Base: TaskCondition, T: ProducerTaskProtocol>(
    _ base: Base, for task: T, _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    base.evaluate(for: task) { answer in completion(answer.mapError { $0 }) }
  }
}

/// Collects conditions from a closure, one on each line, with `if` and `for`.
@resultBuilder
public enum TaskConditionBuilder {
  /// A condition.
  public static func buildExpression<Condition: TaskCondition>(
    _ condition: Condition
  ) -> [AnyCondition] { [AnyCondition(condition)] }

  /// Several conditions.
  public static func buildExpression(_ conditions: [AnyCondition]) -> [AnyCondition] { conditions }

  /// All lines.
  public static func buildBlock(_ parts: [AnyCondition]...) -> [AnyCondition] {
    parts.flatMap { $0 }
  }

  /// An `if` without `else`.
  public static func buildOptional(_ part: [AnyCondition]?) -> [AnyCondition] { part ?? [] }

  /// The first branch.
  public static func buildEither(first part: [AnyCondition]) -> [AnyCondition] { part }

  /// The second branch.
  public static func buildEither(second part: [AnyCondition]) -> [AnyCondition] { part }

  /// A loop.
  public static func buildArray(_ parts: [[AnyCondition]]) -> [AnyCondition] {
    parts.flatMap { $0 }
  }
}
