/// The error of a future that `||` made and whose operands have both failed.
///
/// `a || b || c || ...` makes a tree of these objects. The list of errors for the user is
/// made only when it is read. So a row of n alternatives costs O(n).
final class ErrorsOfAlternatives: Error, @unchecked Sendable {
  // Sendable: `operands` changes only in `deinit`, and `made` has a lock.
  /// The errors of the operands.
  ///
  /// An error may be another such object.
  private var operands: [any Error]
  private let made = Lock<ProperationsError?>(nil)

  init(_ operands: [any Error]) { self.operands = operands }

  deinit {
    var last: [any Error] = []
    swap(&last, &operands)
    FlatRelease.release(consume last)
  }

  /// One error for each operand of the whole row.
  var joined: ProperationsError {
    if let made = made.withLock({ $0 }) { return made }
    var errors: [any Error] = []
    var rest = Array(operands.reversed())
    while let error = rest.popLast() {
      if let nested = error as? ErrorsOfAlternatives {
        rest.append(contentsOf: nested.operands.reversed())
      } else {
        errors.append(error)
      }
    }
    let joined = ProperationsError.joining(errors)
    made.replace(with: joined)
    return joined
  }
}
