/// A sequence that knows the number of its elements, for progress, without a walk.
///
/// Other collections are not asked: the `count` of a long range of integers, or of a view of
/// one, stops the program if it fits no `Int`.
protocol CountedElements {
  /// The number of elements; `nil` if it fits no `Int`.
  var knownCount: Int? { get }
}

extension Array: CountedElements {
  var knownCount: Int? { count }
}

extension ArraySlice: CountedElements {
  var knownCount: Int? { count }
}

extension ContiguousArray: CountedElements {
  var knownCount: Int? { count }
}

extension Range: CountedElements where Bound: FixedWidthInteger {
  var knownCount: Int? {
    let (count, isTooLong) = upperBound.subtractingReportingOverflow(lowerBound)
    return isTooLong ? nil : Int(exactly: count)
  }
}

extension ClosedRange: CountedElements where Bound: FixedWidthInteger {
  var knownCount: Int? {
    (lowerBound..<upperBound).knownCount.flatMap { count in
      let (all, isTooLong) = count.addingReportingOverflow(1)
      return isTooLong ? nil : all
    }
  }
}
