/// The error of a future whose inputs have failed.
///
/// `combine`, `collect` and the others make one list of the errors of their inputs. `||`
/// makes one list for a whole row `a || b || c || ...`, which is a tree of these objects.
/// The futures downstream share the object, and the list for the user is made only when
/// it is read. So a row of n alternatives costs O(n), and a join costs O(the number of its
/// inputs), however many errors these have. (Errors that a closure has read and thrown again
/// are looked at once more.)
final class JoinedErrors: Error, @unchecked Sendable {
  // Sendable: `errors` changes only in `deinit`, `made` has a lock, the rest never changes.
  /// The errors of the inputs; `nil` for a success.
  ///
  /// An error may be another such object.
  private var errors: [(any Error)?]
  private let isRow: Bool
  /// The nesting of the list for the user.
  let nesting: ErrorNesting
  private let made = Lock<ProperationsError?>(nil)

  /// - Parameter isRow: Whether `||` joins the errors.
  init(_ errors: [(any Error)?], isRow: Bool = false) {
    var (nesting, known) = (ErrorNesting(levels: 1, lists: 1), ErrorNesting.Known())
    self.errors = errors.map { error in
      guard let error else { return nil }
      if isRow, let row = error as? JoinedErrors, row.isRow {
        nesting.takeEntries(of: row.nesting)
        return row
      }
      let inner = known.nesting(of: error)
      if inner.isTooDeep { return NestedErrors(error) }
      nesting.take(inner)
      return error
    }
    self.isRow = isRow
    self.nesting = nesting
  }

  deinit {
    var last: [(any Error)?] = []
    swap(&last, &errors)
    FlatRelease.release(consume last)
  }

  /// The error for the user, which has one entry for each input.
  var joined: ProperationsError {
    if let made = made.withLock({ $0 }) { return made }
    let joined = ProperationsError.multipleErrors(isRow ? entriesOfRow : errors.map { $0?.read })
    return made.withLock { made in
      let first = made ?? joined
      made = first
      return first
    }
  }

  /// One entry for each operand of the whole row.
  ///
  /// A row that occurs again is one operand, because rows of rows may double at each step.
  private var entriesOfRow: [(any Error)?] {
    var (entries, seen) = ([(any Error)?](), Set<ObjectIdentifier>())
    var rest = Array(errors.reversed())
    while let error = rest.popLast() {
      if let row = error as? JoinedErrors, row.isRow {
        if seen.insert(ObjectIdentifier(row)).inserted {
          rest.append(contentsOf: row.errors.reversed())
        } else {
          entries.append(NestedErrors(row))
        }
      } else {
        entries.append(error?.read)
      }
    }
    return entries
  }
}

extension Error {
  /// The error for the user, if this one stands for it.
  @inline(__always)
  var read: any Error { (self as? JoinedErrors)?.joined ?? self }
}
