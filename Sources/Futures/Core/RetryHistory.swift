/// The errors of the attempts that have failed.
///
/// Of very many attempts the first 16 errors and the last 16 are kept.
public struct RetryHistory: Sendable {
  /// How many errors of each end are kept.
  private static let limit = 16

  /// How many attempts have failed.
  public private(set) var count = 0
  /// The errors of the first attempts that have failed, in their order; at most 16.
  public private(set) var first: [any Error] = []
  /// The errors of the last attempts that have failed, in their order; at most 16.
  ///
  /// Of less than 32 errors some, or all, are among the first ones as well.
  public private(set) var last: [any Error] = []

  init() {}

  /// Adds the error of the next attempt that has failed; returns the one that is not kept
  /// any more.
  mutating func add(_ error: any Error) -> (any Error)? {
    count += 1
    if first.count < Self.limit { first.append(error) }
    last.append(error)
    return last.count > Self.limit ? last.removeFirst() : nil
  }
}
