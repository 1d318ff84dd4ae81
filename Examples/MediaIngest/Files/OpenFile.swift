import ExampleSupport
import Foundation

/// A file that is open for reading, as long as anybody has this object.
final class OpenFile: Sendable {
  private let file: SourceFile
  private let descriptor: Int32

  /// Opens a file, if it is still the one that the scan has found.
  init(_ file: SourceFile) throws(Problem) {
    do {
      // Not blocking: a pipe may have taken the file's place.
      descriptor = try systemCall { () -> Int32 in
        open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      }
    } catch {
      throw Problem(file.name, error)
    }
    self.file = file
  }

  deinit { close(descriptor) }

  /// Fills as much of the buffer as the file has from a place on.
  ///
  /// - Returns: How many bytes that were; none at the end of the file.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Problem) -> Int {
    do {
      return try systemCall { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    } catch {
      throw Problem(file.name, error)
    }
  }

  /// The first bytes: as many as asked for, or as there are.
  func head(_ count: Int) throws(Problem) -> [UInt8] { try bytes(at: 0, count) }

  /// The bytes from a place on: as many as asked for, or as there are.
  func bytes(at offset: Int64, _ count: Int) throws(Problem) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let outcome = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(Problem) in try read(at: offset, into: buffer) }
    }
    bytes.removeLast(count - (try outcome.get()))
    return bytes
  }

  /// Throws if the file is not what the scan has found.
  func assertUnchanged() throws(Problem) {
    guard (try? FileStatus(of: descriptor)) == file.status else {
      throw Problem(changed: file.name)
    }
  }
}
