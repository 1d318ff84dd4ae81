import Foundation

/// An error number of the operating system.
package struct SystemError: Error, Equatable, CustomStringConvertible {
  package let code: Int32

  package init(code: Int32) { self.code = code }

  package var description: String { String(cString: strerror(code)) }
}

/// Makes a system call, and repeats it if a signal interrupts it.
///
/// - Parameter call: Returns -1 and sets `errno` when it fails.
/// - Returns: The result of the call.
@discardableResult
package func systemCall<Value: FixedWidthInteger>(
  _ call: () -> Value
) throws(SystemError) -> Value {
  while true {
    let value = call()
    let code = errno
    if value != -1 { return value }
    if code != EINTR { throw SystemError(code: code) }
  }
}
