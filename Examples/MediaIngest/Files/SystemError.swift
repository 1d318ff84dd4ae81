import Foundation

/// An error number of the operating system.
struct SystemError: Error, Equatable, CustomStringConvertible {
  let code: Int32

  var description: String { String(cString: strerror(code)) }

  /// Whether the same call may well succeed in a moment.
  var isTransient: Bool {
    [EAGAIN, EBUSY, EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ETIMEDOUT, ETXTBSY].contains(code)
  }
}

/// Calls the system, once more whenever a signal came between.
///
/// - Parameter call: Returns -1 and sets `errno` when it fails.
/// - Returns: What the call returned.
@discardableResult
func systemCall<Value: FixedWidthInteger>(_ call: () -> Value) throws(SystemError) -> Value {
  while true {
    let value = call()
    let code = errno
    if value != -1 { return value }
    if code != EINTR { throw SystemError(code: code) }
  }
}
