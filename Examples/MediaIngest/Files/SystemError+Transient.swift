import ExampleSupport
import Foundation

extension SystemError {
  /// Whether the same call may succeed in a moment.
  var isTransient: Bool {
    [EAGAIN, EBUSY, EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ETIMEDOUT, ETXTBSY].contains(code)
  }

  /// Whether there is no space to write anything.
  var meansThatNothingFits: Bool { [ENOSPC, EDQUOT, EFBIG, EROFS].contains(code) }
}
