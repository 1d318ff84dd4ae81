import Foundation

/// What the file system says of a file: enough to notice that it has changed.
struct FileStatus: Equatable, Sendable {
  /// What makes a file the same file, whatever names it has.
  struct ID: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
  }

  enum Kind: Sendable {
    case file, folder, link, special
  }

  let id: ID
  let kind: Kind
  let size: Int64
  let modificationSeconds: Int64
  let modificationNanoseconds: Int64

  /// Of a path that may be anything; links are not followed.
  init(of path: Path) throws(SystemError) {
    var info = stat()
    try systemCall { path.withCString { lstat($0, &info) } }
    self.init(info)
  }

  /// Of something in an open folder; links are not followed.
  init(of name: Path, inFolder descriptor: Int32) throws(SystemError) {
    var info = stat()
    try systemCall { name.withCString { fstatat(descriptor, $0, &info, AT_SYMLINK_NOFOLLOW) } }
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
      case S_IFLNK: .link
      default: .special
      }
    size = Int64(info.st_size)
    #if canImport(Darwin)
      let modification = info.st_mtimespec
    #else
      let modification = info.st_mtim
    #endif
    modificationSeconds = Int64(modification.tv_sec)
    modificationNanoseconds = Int64(modification.tv_nsec)
  }
}

/// A file as the scan has found it.
struct File: Sendable {
  let path: Path
  let status: FileStatus
  /// More names of the very same file: hard links.
  var otherNames: [Path] = []
}
