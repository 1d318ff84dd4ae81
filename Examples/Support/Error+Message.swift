import Foundation

extension Error {
  /// The error as a message for people: the operating system's own message if the error
  /// has its number.
  ///
  /// On Linux, Foundation's errors say only `NSCocoaErrorDomain error 512`. Some of them
  /// contain the system's number.
  package var message: String {
    if let error = self as? SystemError { return error.description }
    if let code = systemCode { return SystemError(code: code).description }
    let error = self as NSError
    if error.domain == NSCocoaErrorDomain {
      if let text = error.userInfo[NSLocalizedDescriptionKey] as? String { return text }
      return Self.meaning(ofCocoaError: error.code)
    }
    if let error = self as? any LocalizedError, let text = error.errorDescription { return text }
    return "\(self)"
  }

  /// The operating system's number of the error, if the error contains one.
  private var systemCode: Int32? {
    if let error = self as? POSIXError { return error.code.rawValue }
    var next: NSError? = self as NSError
    while let error = next {
      if error.domain == NSPOSIXErrorDomain { return Int32(truncatingIfNeeded: error.code) }
      // Some casts to `NSError` fail on Linux, so `POSIXError` is tried first.
      let cause = error.userInfo[NSUnderlyingErrorKey]
      if let cause = cause as? POSIXError { return cause.code.rawValue }
      next = cause as? NSError
    }
    return nil
  }

  /// The message for a number of Foundation.
  ///
  /// These errors do not contain the system's number.
  private static func meaning(ofCocoaError code: Int) -> String {
    let systemCode: Int32? =
      switch CocoaError.Code(rawValue: code) {
      case .fileNoSuchFile, .fileReadNoSuchFile: ENOENT
      case .fileReadNoPermission, .fileWriteNoPermission: EACCES
      case .fileWriteFileExists: EEXIST
      case .fileWriteOutOfSpace: ENOSPC
      case .fileWriteVolumeReadOnly: EROFS
      case .fileReadTooLarge: EFBIG
      default: nil
      }
    if let systemCode { return SystemError(code: systemCode).description }
    switch code {
    case 4..<512: return "it cannot be read"
    case 512..<1024: return "it cannot be written"
    default: return "the system reports error \(code)"
    }
  }
}
