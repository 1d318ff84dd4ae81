import Foundation

/// An object in a ``ProperationsError/multipleErrors(_:)`` that contains a very deeply
/// nested entry.
///
/// Each `combine` of a failed combination puts `multipleErrors` into `multipleErrors`. An
/// entry with more than 64 levels of them, or more than 1,000 in all, is put into an
/// object of this class. The entry keeps its position and all its errors. So the program
/// can release and compare errors of any depth with little stack.
public final class NestedErrors: LocalizedError, CustomStringConvertible, @unchecked Sendable {
  // Sendable: `inner` changes only in `deinit`.
  private var inner: (any Error)?

  /// The error that belongs at this position.
  public var error: any Error { inner! }

  init(_ error: any Error) { inner = error }

  deinit { FlatRelease.release(inner.take()) }

  /// The description of the error inside.
  public var errorDescription: String? { (error as? ProperationsError)?.errorDescription }

  /// The same as ``errorDescription``.
  public var description: String { errorDescription ?? "" }
}

extension ProperationsError {
  /// The limits that ``NestedErrors`` documents.
  private static let limit = (levels: 64, nested: 1_000)

  /// Makes a `multipleErrors` that needs little stack when it is released.
  static func joining(_ errors: [(any Error)?]) -> ProperationsError {
    // Many of the errors may be the same one, from a common future upstream.
    var known: [UInt: Bool] = [:]
    return .multipleErrors(
      errors.map { error in
        guard let error, case .multipleErrors(let list)? = error as? ProperationsError else {
          return error
        }
        let isDeep = known[address(list)] ?? isTooDeep(error)
        known[address(list)] = isDeep
        return isDeep ? NestedErrors(error) : error
      })
  }

  /// The identity of a list.
  ///
  /// The caller keeps the list while it uses the identity.
  private static func address(_ errors: [(any Error)?]) -> UInt {
    errors.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
  }

  private static func isTooDeep(_ error: any Error) -> Bool {
    var level = [error]
    var nested = 0
    for _ in 0..<limit.levels {
      level = level.flatMap { error -> [any Error] in
        guard nested <= limit.nested,
          case .multipleErrors(let errors)? = error as? ProperationsError
        else { return [] }
        nested += 1
        return errors.compactMap { $0 }
      }
      if nested > limit.nested { return true }
      if level.isEmpty { return false }
    }
    return true
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
