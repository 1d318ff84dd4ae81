import Futures

/// A condition that comes with the library.
///
/// A condition that blocks no thread, and calls no user code but a clock or a hash, is
/// evaluated on the current thread. All others are evaluated on a queue of their own.
protocol ConditionOfTheLibrary: TaskCondition {
  var isAskedInPlace: Bool { get }
}

extension ConditionOfTheLibrary {
  var isAskedInPlace: Bool { true }
}

extension Conditions.Empty: ConditionOfTheLibrary {}
extension Conditions.MutuallyExclusive: ConditionOfTheLibrary {}
extension Conditions.Delay: ConditionOfTheLibrary {}
// So that tasks get permits in the order in which they become ready.
extension RateLimiter: ConditionOfTheLibrary {}
extension Conditions.Rate: ConditionOfTheLibrary {}

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
