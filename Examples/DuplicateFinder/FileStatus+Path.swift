import ExampleSupport
import Foundation

extension FileStatus {
  /// Of a path that may be anything; links are not followed.
  init(of path: Path) throws(SystemError) {
    try self.init { info in path.withCString { lstat($0, &info) } }
  }

  /// Of something in an open folder; links are not followed.
  init(of name: Path, inFolder descriptor: Int32) throws(SystemError) {
    try self.init { info in
      name.withCString { fstatat(descriptor, $0, &info, AT_SYMLINK_NOFOLLOW) }
    }
  }
}
