import Foundation

/// The status of a file, as far as needed to notice that the file has changed.
package struct FileStatus: Equatable, Sendable {
  /// The identity of a file, shared by all its hard links.
  package struct ID: Hashable, Comparable, Sendable {
    package let device: UInt64
    package let inode: UInt64

    package static func < (a: ID, b: ID) -> Bool {
      a.device == b.device ? a.inode < b.inode : a.device < b.device
    }

    fileprivate init(_ info: stat) {
      device = UInt64(truncatingIfNeeded: info.st_dev)
      inode = UInt64(info.st_ino)
    }
  }

  package enum Kind: Sendable { case file, folder, link, other }

  package let id: ID
  package let kind: Kind
  package let size: Int64
  /// The time of the last change, in nanoseconds since 1970.
  package let modified: Int64

  /// The status of the file at a path; a link is not followed.
  package init(of path: String) throws(SystemError) {
    try self.init { lstat(path, &$0) }
  }

  /// The status of the file that a path leads to; a link is followed.
  package init(following path: String) throws(SystemError) {
    try self.init { stat(path, &$0) }
  }

  /// The status of an open file.
  package init(of descriptor: Int32) throws(SystemError) {
    try self.init { fstat(descriptor, &$0) }
  }

  /// The status that a call of the `stat` family reports.
  package init(_ call: (inout stat) -> Int32) throws(SystemError) {
    var info = stat()
    try systemCall { call(&info) }
    id = ID(info)
    kind =
      switch info.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      default: .other
      }
    size = Int64(info.st_size)
    #if canImport(Darwin)
      let time = info.st_mtimespec
    #else
      let time = info.st_mtim
    #endif
    modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
