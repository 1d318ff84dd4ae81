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

/// Whether a condition that another one wraps is asked in place.
func isAskable(_ condition: any TaskCondition) -> Bool {
  (condition as? any ConditionOfTheLibrary)?.isAskedInPlace ?? false
}
