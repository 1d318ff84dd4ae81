import Foundation

/// An object in a ``ProperationsError/multipleErrors(_:)`` that contains a very deeply
/// nested entry, or a repeated one.
///
/// Each `combine` of a failed combination puts `multipleErrors` into `multipleErrors`. An
/// entry with 64 levels of them or more, or more than 1,000 in all, is put into an
/// object of this class. The entry keeps its position and all its errors. So the program
/// can release and compare errors of any depth with little stack.
///
/// A row of alternatives `a || b || c` that occurs again in a longer row, as in
/// `row || row`, is put into an object, too. The errors of its operands have entries of
/// their own where the row occurs first.
public final class NestedErrors: LocalizedError, CustomStringConvertible, @unchecked Sendable {
  // Sendable: `inner` changes only in `deinit`.
  private var inner: (any Error)?

  /// The error that belongs at this position.
  public var error: any Error { inner!.read }

  init(_ error: any Error) { inner = error }

  deinit { FlatRelease.release(inner.take()) }

  /// The description of the error inside.
  public var errorDescription: String? { (error as? ProperationsError)?.errorDescription }

  /// The same as ``errorDescription``.
  public var description: String { errorDescription ?? "" }
}

/// How deeply `multipleErrors` are nested in an error.
struct ErrorNesting {
  /// The limits that ``NestedErrors`` documents.
  private static let limit = (levels: 64, lists: 1_000)

  /// The number of levels.
  var levels = 0
  /// The number of `multipleErrors` on all levels, not counted far beyond the limit.
  var lists = 0

  var isTooDeep: Bool { levels >= Self.limit.levels || lists > Self.limit.lists }

  /// Adds an entry of that nesting.
  mutating func take(_ entry: ErrorNesting) {
    levels = max(levels, entry.levels + 1)
    lists = min(lists + entry.lists, Self.limit.lists + 1)
  }

  /// Adds the entries of a list, without the list.
  mutating func takeEntries(of list: ErrorNesting) {
    levels = max(levels, list.levels)
    lists = min(lists + list.lists - 1, Self.limit.lists + 1)
  }

  /// The nestings of lists that were measured.
  ///
  /// Many errors may be the same one, from a common future upstream.
  struct Known {
    private var nestings: [UInt: ErrorNesting] = [:]

    /// The nesting of an error that the caller keeps.
    mutating func nesting(of error: any Error) -> ErrorNesting {
      if let joined = error as? JoinedErrors { return joined.nesting }
      guard case .multipleErrors(let list)? = error as? ProperationsError else {
        return ErrorNesting()
      }
      let address = ProperationsError.address(list)
      let nesting = nestings[address] ?? ErrorNesting(measuring: list)
      nestings[address] = nesting
      return nesting
    }
  }

  init(levels: Int = 0, lists: Int = 0) {
    self.levels = levels
    self.lists = lists
  }

  /// Looks at all entries, up to the limits.
  private init(measuring list: [(any Error)?]) {
    var level = [list]
    while !level.isEmpty, !isTooDeep {
      levels += 1
      lists += level.count
      level = level.joined().compactMap { error in
        guard case .multipleErrors(let list)? = error as? ProperationsError else { return nil }
        return list
      }
    }
  }
}

extension ProperationsError {
  /// The identity of a list.
  ///
  /// The caller keeps the list while it uses the identity.
  fileprivate static func address(_ errors: [(any Error)?]) -> UInt {
    errors.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
  }

  /// The entries of a `multipleErrors`, also of one in a `NestedErrors`.
  ///
  /// `nil` for other errors.
  private static func entries(of error: any Error) -> [(any Error)?]? {
    let error = (error as? NestedErrors)?.error ?? error
    guard case .multipleErrors(let errors)? = error as? ProperationsError else { return nil }
    return errors
  }

  /// The first error, at any depth, that is not a `multipleErrors`.
  static func first(of errors: [(any Error)?]) -> (any Error)? {
    var errors = errors
    while let first = errors.lazy.compactMap({ $0 }).first {
      guard let nested = entries(of: first) else { return first }
      errors = nested
    }
    return nil
  }

  /// Whether two lists have equal errors at the same positions.
  ///
  /// Each pair of lists is compared once, however often it occurs.
  static func areSame(_ a: [(any Error)?], _ b: [(any Error)?]) -> Bool {
    var pairs = [(a, b)]
    var seen: Set<[UInt]> = []
    while let (a, b) = pairs.popLast() {
      guard a.count == b.count else { return false }
      guard seen.insert([address(a), address(b)]).inserted else { continue }
      for case (let x, let y) in zip(a, b) where x != nil || y != nil {
        guard let x, let y else { return false }
        if let x = entries(of: x), let y = entries(of: y) {
          pairs.append((x, y))
        } else if !isSameError(x, y) {
          return false
        }
      }
    }
    return true
  }

  private static func isSameError(_ a: any Error, _ b: any Error) -> Bool {
    if let a = a as? ProperationsError, let b = b as? ProperationsError { return a == b }
    let (x, y) = (a as NSError, b as NSError)
    return type(of: a) == type(of: b) && x.domain == y.domain && x.code == y.code
  }
}
