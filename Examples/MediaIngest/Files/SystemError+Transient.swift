import ExampleSupport
import Foundation

extension SystemError {
  /// Whether the same call may well succeed in a moment.
  var isTransient: Bool {
    [EAGAIN, EBUSY, EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ETIMEDOUT, ETXTBSY].contains(code)
  }

  /// Whether there is no room for anything more.
  var meansThatNothingFits: Bool { [ENOSPC, EDQUOT, EFBIG, EROFS].contains(code) }
}
