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

  /// The producer that has reported this.
  var producer = ProgressProducer()

  /// The fraction as a percentage, and the units if there are any.
  public var description: String {
    let counted = completed.map { "\($0) of \(total.map { "\($0)" } ?? "an unknown number")" }
    if isIndeterminate { return counted ?? "unknown" }
    let percentage = "\(units(in: 100)) %"
    return counted.map { "\(percentage), \($0)" } ?? percentage
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

  /// How many of so many units are complete, rounded down.
  func units(in count: Int64) -> Int64 {
    if let completed, let total, total > 0 {
      return total.dividingFullWidth(completed.multipliedFullWidth(by: count)).quotient
    }
    return Self.units(fractionCompleted, of: count)
  }

  /// How many units a fraction is, rounded down, but for the rounding errors of the fraction.
  static func units(_ fraction: Double, of count: Int64) -> Int64 {
    Int64((min(max(fraction, 0), 1) * Double(count) + 1e-6).rounded(.down))
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
  /// A fraction falls only if a producer has corrected its total, perhaps to an unknown one. Another producer, such as
  /// that of the next attempt, is silent until it is further than the last one was.
  func mayFollow(_ last: FutureProgress) -> Bool {
    if self == last { return false }
    let isSame = producer.number == last.producer.number
    if isSame, producer.number != 0, total != last.total { return true }
    if fractionCompleted != last.fractionCompleted {
      return fractionCompleted > last.fractionCompleted
    }
    // The fraction is the same: more units are news, knowing less is none.
    if isIndeterminate != last.isIndeterminate { return last.isIndeterminate }
    return (completed ?? 0) >= (last.completed ?? 0)
  }
}

/// Tells the reports of one producer from those of others.
///
/// All are equal, because it does not count when values are compared.
struct ProgressProducer: Hashable {
  /// Zero for what is no report.
  var number: UInt64 = 0

  static func == (lhs: ProgressProducer, rhs: ProgressProducer) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}
