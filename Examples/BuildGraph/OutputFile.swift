import ExampleSupport
import Foundation

/// A file for what a command writes: nothing has to read along, so that a command
/// neither waits for a reader nor, by the processes it leaves behind, keeps one waiting.
final class OutputFile: Sendable {
  let descriptor: Int32

  init() throws(SystemError) {
    // Without a name it goes with its last descriptor.
    let folder = FileManager.default.temporaryDirectory.path
    var template = Array("\(folder)/BuildGraph-XXXXXX".utf8CString)
    descriptor = try systemCall { mkstemp(&template) }
    unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // A command that opens '/dev/stdout' for itself does not write over the rest.
    _ = fcntl(descriptor, F_SETFL, O_APPEND)
  }

  deinit { close(descriptor) }

  /// How much has been written so far.
  var size: Int64 { (try? FileStatus(of: descriptor))?.size ?? 0 }

  /// Reads a part of the file into a buffer; returns how much that was.
  func read(at offset: Int64, into buffer: inout [UInt8]) -> Int {
    let count = try? systemCall {
      buffer.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    }
    return count ?? 0
  }
}
