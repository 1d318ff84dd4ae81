/// The number of elements of a sequence, for progress; `nil` if it is not known without a walk.
///
/// The `count` of a range of integers stops the program if it fits no `Int`, and so does that
/// of a view of such a range, which has the same indices. These are not asked for it.
func knownCount<Elements: Sequence>(of elements: Elements) -> Int? {
  if let range = elements as? any IntegerRange { return range.knownCount }
  return (elements as? any RandomAccessCollection).flatMap { $0.knownCount }
}

extension RandomAccessCollection {
  fileprivate var knownCount: Int? {
    let (start, end) = (startIndex as Any, endIndex as Any)
    if let start = start as? Int, let end = end as? Int {
      return end.subtractingReportingOverflow(start).overflow ? nil : count
    }
    return start is any FixedWidthInteger || start is any IndexOfRange ? nil : count
  }
}

private protocol IntegerRange {
  var knownCount: Int? { get }
}

extension Range: IntegerRange where Bound: FixedWidthInteger {
  fileprivate var knownCount: Int? {
    guard let lower = Int(exactly: lowerBound), let upper = Int(exactly: upperBound) else {
      return nil
    }
    let (count, isTooLong) = upper.subtractingReportingOverflow(lower)
    return isTooLong ? nil : count
  }
}

extension ClosedRange: IntegerRange where Bound: FixedWidthInteger {
  fileprivate var knownCount: Int? {
    let (count, isTooLong) = ((lowerBound..<upperBound).knownCount ?? .max)
      .addingReportingOverflow(1)
    return isTooLong ? nil : count
  }
}

private protocol IndexOfRange {}

extension ClosedRange.Index: IndexOfRange {}
