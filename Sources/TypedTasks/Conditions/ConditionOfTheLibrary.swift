import Futures

/// A condition that comes with the library.
///
/// A condition that blocks no thread, and calls no user code but a clock or a hash, is
/// evaluated on the current thread. All others are evaluated on a queue of their own.
protocol ConditionOfTheLibrary: TaskCondition {
  var isAskedInPlace: Bool { get }
}

extension Conditions.Empty: ConditionOfTheLibrary {
  var isAskedInPlace: Bool { true }
}

extension Conditions.MutuallyExclusive: ConditionOfTheLibrary {
  var isAskedInPlace: Bool { true }
}

extension Conditions.Delay: ConditionOfTheLibrary {
  var isAskedInPlace: Bool { true }
}

extension RateLimiter: ConditionOfTheLibrary {
  // So that tasks get permits in the order in which they become ready.
  var isAskedInPlace: Bool { true }
}

extension Conditions.Rate: ConditionOfTheLibrary {
  var isAskedInPlace: Bool { true }
}

extension Conditions.Silent: ConditionOfTheLibrary {
  var isAskedInPlace: Bool { isAskable(condition) }
}

extension Conditions.Negated: ConditionOfTheLibrary {
  var isAskedInPlace: Bool { isAskable(condition) }
}

extension AnyCondition: ConditionOfTheLibrary {
  var isAskedInPlace: Bool { isAskable(base) }
}

private func isAskable(_ condition: any TaskCondition) -> Bool {
  (condition as? any ConditionOfTheLibrary)?.isAskedInPlace ?? false
}
