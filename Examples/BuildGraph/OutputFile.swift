import ExampleSupport
import Foundation

/// A file for the output of a command.
///
/// A file needs no reader, so a command never waits for one. Processes that a command
/// leaves behind keep no reader waiting.
final class OutputFile: Sendable {
  let descriptor: Int32

  init() throws(SystemError) {
    // The file has no name, so it ends with its last descriptor.
    let folder = FileManager.default.temporaryDirectory.path
    var template = Array("\(folder)/BuildGraph-XXXXXX".utf8CString)
    descriptor = try systemCall { mkstemp(&template) }
    unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // A command that opens '/dev/stdout' itself must not overwrite earlier output.
    _ = fcntl(descriptor, F_SETFL, O_APPEND)
  }

  deinit { close(descriptor) }

  /// The number of bytes written so far.
  var size: Int64 { (try? FileStatus(of: descriptor))?.size ?? 0 }

  /// Reads a part of the file into a buffer; returns the number of bytes.
  func read(at offset: Int64, into buffer: inout [UInt8]) -> Int {
    let count = try? systemCall {
      buffer.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    }
    return count ?? 0
  }
}
