import ExampleSupport
import Foundation

/// Why a path is missing from the result.
struct Problem: Error, Hashable, Comparable, Sendable {
  enum Kind: String, Sendable {
    /// The system does not let us read it.
    case unreadable
    /// It was there when its folder was read, and is not any more.
    case vanished
    /// It is not what it was when its folder was read.
    case changed
    /// It was asked for, but is nothing that has content to compare.
    case unsupported
    /// It cannot be removed or linked.
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

  /// A system call failed for a path that nothing is known of.
  init(_ path: Path, _ error: SystemError) { self.init(path, .unreadable, "\(error)") }

  /// A system call failed for a path that was there before.
  init(seenBefore path: Path, _ error: SystemError) {
    switch error.code {
    case ENOENT, ENOTDIR, ESTALE: self.init(path, .vanished, "vanished during the search")
    // A link or a socket has taken the file's place.
    case ELOOP, ENXIO: self.init(changed: path)
    default: self.init(path, error)
    }
  }

  init(changed path: Path) { self.init(path, .changed, "changed during the search") }

  static func < (a: Problem, b: Problem) -> Bool {
    a.path == b.path ? a.message < b.message : a.path < b.path
  }
}
