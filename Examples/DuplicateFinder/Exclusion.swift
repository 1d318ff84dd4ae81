import Foundation

/// A shell pattern for files and folders that the search skips.
struct Exclusion: Sendable {
  private let pattern: Path
  private let isForPaths: Bool

  init(_ pattern: [UInt8]) {
    self.pattern = Path(bytes: pattern)
    isForPaths = pattern.contains(UInt8(ascii: "/"))
  }

  /// Whether the pattern matches a name in a folder.
  func fits(_ name: UnsafePointer<CChar>, in folder: Path) -> Bool {
    guard isForPaths else { return fits(name) }
    let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
    return folder.appending(bytes).withCString { fits($0) }
  }

  private func fits(_ text: UnsafePointer<CChar>) -> Bool {
    pattern.withCString { fnmatch($0, text, 0) == 0 }
  }
}
