/// The errors of the failed attempts.
///
/// If there are very many attempts, the first 16 errors and the last 16 are kept.
public struct RetryHistory: Sendable {
  /// How many errors are kept at each end.
  private static let limit = 16

  /// The number of failed attempts.
  public private(set) var count = 0
  /// The errors of the first failed attempts, in their order; at most 16.
  public private(set) var first: [any Error] = []
  /// The errors of the last failed attempts, in their order; at most 16.
  ///
  /// With less than 32 errors, some or all of them are in `first` too.
  public private(set) var last: [any Error] = []

  init() {}

  /// Adds the error of a failed attempt.
  ///
  /// Returns the error that is no longer kept.
  mutating func add(_ error: any Error) -> (any Error)? {
    count += 1
    if first.count < Self.limit { first.append(error) }
    last.append(error)
    return last.count > Self.limit ? last.removeFirst() : nil
  }
}
