/// The number of elements of a sequence, for progress; `nil` if it is not known without a walk.
///
/// The `count` of a range of integers stops the program if it fits no `Int`, and so does that
/// of a view of such a range. So only a collection is asked for it whose indices are integers
/// that are no further apart.
func knownCount<Elements: Sequence>(of elements: Elements) -> Int? {
  if let range = elements as? any ClosedIntegerRange { return range.knownCount }
  return (elements as? any RandomAccessCollection).flatMap { $0.knownCount }
}

extension RandomAccessCollection {
  fileprivate var knownCount: Int? {
    guard let start = startIndex as? any FixedWidthInteger,
      let end = endIndex as? any FixedWidthInteger,
      let start = Int(exactly: start), let end = Int(exactly: end),
      !end.subtractingReportingOverflow(start).overflow
    else { return nil }
    return count
  }
}

private protocol ClosedIntegerRange {
  var knownCount: Int? { get }
}

extension ClosedRange: ClosedIntegerRange where Bound: FixedWidthInteger {
  fileprivate var knownCount: Int? {
    guard let lower = Int(exactly: lowerBound), let upper = Int(exactly: upperBound) else {
      return nil
    }
    let (distance, isTooLong) = upper.subtractingReportingOverflow(lower)
    return isTooLong || distance == .max ? nil : distance + 1
  }
}
