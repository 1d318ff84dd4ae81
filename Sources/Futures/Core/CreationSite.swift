/// The place where a future was made, and the type that it promised.
///
/// Errors and descriptions carry it. So a failure that surfaces far away still names the
/// line to look at. Recording it allocates nothing: the file name stays the compiler's
/// static string until it is read.
public struct CreationSite: Sendable, Hashable, CustomStringConvertible {
  private let staticFileID: StaticString
  private let compactLine: UInt32

  /// The name of the promised value's type, or an empty string if only the place is
  /// known.
  public let valueType: String

  /// The module and file, as `#fileID` gives them.
  public var fileID: String { staticFileID.description }

  /// The line in the file, counted from one.
  public var line: Int { Int(compactLine) }

  /// Makes a creation site from a place in the source.
  ///
  /// - Parameters:
  ///   - fileID: The module and file.
  ///   - line: The line in the file.
  ///   - valueType: The name of the promised value's type.
  public init(fileID: StaticString = #fileID, line: UInt = #line, valueType: String = "") {
    self.staticFileID = fileID
    self.compactLine = UInt32(clamping: line)
    self.valueType = valueType
  }

  /// The type and the place: `Future<Int> created at App/Fetch.swift:12`.
  public var description: String {
    valueType.isEmpty ? "\(fileID):\(line)" : "Future<\(valueType)> created at \(fileID):\(line)"
  }

  /// Compares the place and the type.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.compactLine == rhs.compactLine && lhs.valueType == rhs.valueType
      && lhs.fileID == rhs.fileID
  }

  /// Hashes the place and the type.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(fileID)
    hasher.combine(compactLine)
    hasher.combine(valueType)
  }
}

/// The part of a creation site that every future stores: three words, without reference
/// counting.
@usableFromInline
package struct Birthplace: Sendable {
  @usableFromInline package let fileID: StaticString
  @usableFromInline package let line: UInt32

  @inlinable
  package init(_ fileID: StaticString, _ line: UInt) {
    self.fileID = fileID
    self.line = UInt32(truncatingIfNeeded: line)
  }

  package func site(of valueType: Any.Type) -> CreationSite {
    CreationSite(fileID: fileID, line: UInt(line), valueType: String(describing: valueType))
  }
}
