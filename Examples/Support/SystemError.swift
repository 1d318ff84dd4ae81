import Foundation

/// An error number of the operating system.
package struct SystemError: Error, Equatable, CustomStringConvertible {
  package let code: Int32

  package init(code: Int32) { self.code = code }

  package var description: String { String(cString: strerror(code)) }
}

/// Calls the system, once more whenever a signal came between.
///
/// - Parameter call: Returns -1 and sets `errno` when it fails.
/// - Returns: What the call returned.
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
