import ExampleSupport
import Foundation

/// A path that is missing from the result, and the reason.
struct Problem: Error, Hashable, Comparable, Sendable {
  enum Kind: String, Sendable {
    /// The system refuses to read the file.
    case unreadable
    /// The file is gone since its folder was read.
    case vanished
    /// The file has changed since its folder was read.
    case changed
    /// The given path has no content to compare.
    case unsupported
    /// The file cannot be removed or linked.
    case refused
  }

  let path: Path
  let kind: Kind
  let message: String

  init(_ path: Path, _ kind: Kind, _ message: String) {
    self.path = path
    self.kind = kind
    self.message = message
  }

  /// Makes a problem from a failed system call for a path that was not seen before.
  init(_ path: Path, _ error: SystemError) { self.init(path, .unreadable, "\(error)") }

  /// Makes a problem from a failed system call for a path that was seen before.
  init(seenBefore path: Path, _ error: SystemError) {
    switch error.code {
    case ENOENT, ENOTDIR, ESTALE: self.init(path, .vanished, "vanished during the search")
    // A link or a socket has replaced the file.
    case ELOOP, ENXIO: self.init(changed: path)
    default: self.init(path, error)
    }
  }

  init(changed path: Path) { self.init(path, .changed, "changed during the search") }

  static func < (a: Problem, b: Problem) -> Bool {
    a.path == b.path ? a.message < b.message : a.path < b.path
  }
}
