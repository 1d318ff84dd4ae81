import ExampleSupport
import Foundation

extension FileStatus {
  /// The status of the file at a path; links are not followed.
  init(of path: Path) throws(SystemError) {
    try self.init { info in path.withCString { lstat($0, &info) } }
  }

  /// The status of a name in an open folder; links are not followed.
  init(of name: Path, inFolder descriptor: Int32) throws(SystemError) {
    try self.init { info in
      name.withCString { fstatat(descriptor, $0, &info, AT_SYMLINK_NOFOLLOW) }
    }
  }
}
