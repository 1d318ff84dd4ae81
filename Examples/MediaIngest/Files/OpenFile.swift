import ExampleSupport
import Foundation

/// A file that is open for reading as long as this object exists.
final class OpenFile: Sendable {
  private let file: SourceFile
  private let descriptor: Int32

  /// Opens a file; a link in its place is an error.
  init(_ file: SourceFile) throws(Problem) {
    do {
      // Not blocking: a pipe may have replaced the file.
      descriptor = try systemCall { () -> Int32 in
        open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      }
    } catch {
      throw Problem(file.name, error)
    }
    self.file = file
  }

  deinit { close(descriptor) }

  /// Reads into the buffer, from an offset on.
  ///
  /// - Returns: The number of bytes read; 0 at the end of the file.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Problem) -> Int {
    do {
      return try systemCall { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    } catch {
      throw Problem(file.name, error)
    }
  }

  /// Reads the first bytes: `count`, or fewer in a shorter file.
  func head(_ count: Int) throws(Problem) -> [UInt8] { try bytes(at: 0, count) }

  /// Reads the bytes from an offset on: `count`, or fewer at the end of the file.
  func bytes(at offset: Int64, _ count: Int) throws(Problem) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let outcome = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(Problem) in try read(at: offset, into: buffer) }
    }
    bytes.removeLast(count - (try outcome.get()))
    return bytes
  }

  /// Throws if the file has changed since the scan.
  func assertUnchanged() throws(Problem) {
    guard (try? FileStatus(of: descriptor)) == file.status else {
      throw Problem(changed: file.name)
    }
  }
}
