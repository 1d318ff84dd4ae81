// Conditions by short names: `task.addCondition(.mutuallyExclusive(Printer.self))`.

extension TaskCondition where Self == Conditions.NoCancelledDependencies {
  /// Met unless a dependency of the task was cancelled; see
  /// ``Conditions/NoCancelledDependencies``.
  public static var noCancelledDependencies: Self { Self() }
}

extension TaskCondition where Self == Conditions.Delay {
  /// Met some time after it was asked; see ``Conditions/Delay``.
  ///
  /// - Parameter duration: How long the task has to wait.
  public static func delay(_ duration: Duration) -> Self { Self(duration) }
}

extension TaskCondition {
  /// Keeps the tasks of one category from running at the same time; see
  /// ``Conditions/MutuallyExclusive``.
  ///
  /// - Parameters:
  ///   - category: The type that stands for the category.
  ///   - key: Which of the things that the type stands for; `nil` if it stands for one.
  public static func mutuallyExclusive<Category>(
    _ category: Category.Type, key: String? = nil
  ) -> Self where Self == Conditions.MutuallyExclusive<Category> { Self(category, key: key) }

  /// Met when another condition is not; see ``Conditions/Negated``.
  ///
  /// - Parameter condition: The other condition.
  public static func not<Base: TaskCondition>(_ condition: Base) -> Self
  where Self == Conditions.Negated<Base> { Self(condition) }
}
