import Foundation

/// What the file system says of a file: enough to notice that it has changed.
struct FileStatus: Equatable, Sendable {
  enum Kind: Sendable { case file, folder, other }

  /// What makes a file the same file, whatever names it has.
  struct ID: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
  }

  let id: ID
  let kind: Kind
  let size: Int64
  /// In nanoseconds since 1970.
  let modified: Int64

  /// Of a path; a link is not followed.
  init(of path: String) throws(SystemError) {
    var info = stat()
    try systemCall { lstat(path, &info) }
    self.init(info)
  }

  /// Of what a path leads to.
  init(following path: String) throws(SystemError) {
    var info = stat()
    try systemCall { stat(path, &info) }
    self.init(info)
  }

  /// Of something that is open.
  init(of descriptor: Int32) throws(SystemError) {
    var info = stat()
    try systemCall { fstat(descriptor, &info) }
    self.init(info)
  }

  private init(_ info: stat) {
    id = ID(device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(info.st_ino))
    kind =
      switch info.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
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
