import Foundation

/// Reads and writes whole text files, and throws the operating system's own errors.
package enum TextFile {
  /// Writes a file; overwrites an existing one.
  package static func write(_ text: String, to path: String) throws(SystemError) {
    let descriptor = try systemCall {
      open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    }
    defer { close(descriptor) }
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = try systemCall {
        rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      }
      rest = rest.dropFirst(count)
    }
  }

  /// The bytes of a file.
  package static func read(_ path: String) throws(SystemError) -> [UInt8] {
    let descriptor = try systemCall { open(path, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65536))
    while true {
      let count = try systemCall {
        buffer.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }
}
