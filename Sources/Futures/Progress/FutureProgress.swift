/// How far the work behind a future has come.
///
/// ``AnyFuture/currentProgress`` and ``AnyFuture/progressUpdates`` deliver such values. A
/// producer reports with ``Promise/report(completed:of:)``.
public struct FutureProgress: Sendable, Hashable, CustomStringConvertible {
  /// The completed fraction, from 0 to 1.
  ///
  /// It is 0 while the total is unknown.
  public let fractionCompleted: Double

  /// The completed units; `nil` if no single producer counts them.
  ///
  /// A producer's units pass through `mapToValue` and other combinators that have one source.
  /// They end where the progress of several futures becomes one fraction.
  public let completed: Int64?

  /// The units that there are in all; `nil` if that is unknown, or no single producer counts
  /// them.
  public let total: Int64?

  /// Whether it is unknown how large the completed part is.
  public let isIndeterminate: Bool

  /// The fraction as a percentage, and the units if there are any.
  public var description: String {
    let units = completed.map { "\($0) of \(total.map { "\($0)" } ?? "an unknown number")" }
    if isIndeterminate { return units ?? "unknown" }
    let percentage = "\(Int(fractionCompleted * 100)) %"
    return units.map { "\(percentage), \($0)" } ?? percentage
  }

  /// No producer has reported.
  static let unknown = FutureProgress(
    fractionCompleted: 0, completed: nil, total: nil, isIndeterminate: true)

  /// A fraction that no single producer counts.
  static func fraction(_ fraction: Double) -> FutureProgress {
    FutureProgress(
      fractionCompleted: min(max(fraction, 0), 1), completed: nil, total: nil,
      isIndeterminate: false)
  }

  /// The end of a success.
  static func complete(of total: Int64?) -> FutureProgress {
    FutureProgress(
      fractionCompleted: 1, completed: total, total: total, isIndeterminate: false)
  }
}

extension FutureProgress {
  /// What a producer reports.
  ///
  /// A negative number counts as zero. A total of zero or less is unknown, and the completed
  /// units never exceed a total that is known.
  init(completed: Int64, of total: Int64) {
    let completed = max(completed, 0)
    if total > 0 {
      let completed = min(completed, total)
      self.init(
        fractionCompleted: Double(completed) / Double(total), completed: completed, total: total,
        isIndeterminate: false)
    } else {
      self.init(fractionCompleted: 0, completed: completed, total: nil, isIndeterminate: true)
    }
  }

  /// Whether this value may be published after another one.
  ///
  /// A fraction falls only if a producer has corrected its total.
  func mayFollow(_ last: FutureProgress) -> Bool {
    if self == last { return false }
    if let total, let lastTotal = last.total, total != lastTotal { return true }
    if fractionCompleted != last.fractionCompleted {
      return fractionCompleted > last.fractionCompleted
    }
    // The fraction is the same: more units are news, knowing less is none.
    if isIndeterminate != last.isIndeterminate { return last.isIndeterminate }
    return (completed ?? 0) >= (last.completed ?? 0)
  }
}
