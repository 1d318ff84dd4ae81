import Foundation
import Futures

// Short names for conditions: `task.addCondition(.mutuallyExclusive(Printer.self))`.

extension TaskCondition where Self == Conditions.NoCancelledDependencies {
  /// Met unless a dependency of the task was cancelled; see
  /// ``Conditions/NoCancelledDependencies``.
  public static var noCancelledDependencies: Self { Self() }
}

extension TaskCondition where Self == Conditions.Delay {
  /// Makes the task wait for a time before it runs; see ``Conditions/Delay``.
  ///
  /// - Parameters:
  ///   - duration: How long the task waits.
  ///   - clock: The clock that measures the time.
  public static func delay(
    _ duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Self { Self(duration, clock: clock) }

  /// Makes the task wait for a time before it runs; see ``Conditions/Delay``.
  ///
  /// - Parameter interval: How long the task waits.
  @_disfavoredOverload
  public static func delay(_ interval: DispatchTimeInterval) -> Self { Self(Duration(interval)) }
}

extension TaskCondition {
  /// Keeps the tasks of one category from running at the same time; see
  /// ``Conditions/MutuallyExclusive``.
  ///
  /// - Parameters:
  ///   - category: The type that stands for the category.
  ///   - key: Names one of the things that the type stands for; `nil` if it stands for
  ///     one.
  public static func mutuallyExclusive<Category>(
    _ category: Category.Type, key: String? = nil
  ) -> Self where Self == Conditions.MutuallyExclusive<Category> { Self(category, key: key) }

  /// Met when another condition is not met; see ``Conditions/Negated``.
  ///
  /// - Parameter condition: The other condition.
  public static func not<Base: TaskCondition>(_ condition: Base) -> Self
  where Self == Conditions.Negated<Base> { Self(condition) }
}
