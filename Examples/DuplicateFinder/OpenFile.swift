import ExampleSupport
import Foundation

/// A file that is open for reading until this value ends.
struct OpenFile: ~Copyable {
  private let file: File
  private let descriptor: Int32

  /// Opens a file; throws if it is not the file that the scan has found.
  init(_ file: File) throws {
    descriptor = try Self.open(file)
    self.file = file
  }

  deinit { close(descriptor) }

  /// Fills the buffer; throws if the file ends before that, because then it has changed.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws {
    var rest = buffer[...]
    while !rest.isEmpty {
      let count: Int
      do throws(SystemError) {
        let space = UnsafeMutableRawBufferPointer(rebasing: rest)
        count = try systemCall { Foundation.read(descriptor, space.baseAddress, space.count) }
      } catch {
        throw Problem(file.path, error)
      }
      guard count > 0 else { throw Problem(changed: file.path) }
      rest = rest.dropFirst(count)
    }
  }

  /// Throws if the file has changed since the scan.
  func assertUnchanged() throws { try Self.assertUnchanged(file, descriptor) }

  /// Throws if a link would change the file's owner, group or mode, or would cross file
  /// systems.
  func assertLinkable(to other: borrowing OpenFile) throws(Problem) {
    let (mine, others) = (try info(), try other.info())
    guard mine.st_dev == others.st_dev else {
      throw Problem(file.path, .refused, "is on another file system than \(other.file.path)")
    }
    guard
      (mine.st_uid, mine.st_gid, mine.st_mode) == (others.st_uid, others.st_gid, others.st_mode)
    else {
      throw Problem(
        file.path, .refused, "has another owner, group or mode than \(other.file.path)")
    }
  }

  /// Whether the file has no name left, so that closing it frees its space.
  var isNameless: Bool { get throws(Problem) { try info().st_nlink == 0 } }

  private func info() throws(Problem) -> stat {
    var info = stat()
    do throws(SystemError) {
      try systemCall { fstat(descriptor, &info) }
    } catch {
      throw Problem(file.path, error)
    }
    return info
  }

  private static func assertUnchanged(_ file: File, _ descriptor: Int32) throws {
    guard (try? FileStatus(of: descriptor)) == file.status else {
      throw Problem(changed: file.path)
    }
  }

  private static func open(_ file: File) throws -> Int32 {
    let descriptor: Int32
    do throws(SystemError) {
      descriptor = try systemCall {
        // Not blocking: a pipe may have replaced the file.
        file.path.withCString {
          Foundation.open($0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
      }
    } catch {
      throw Problem(seenBefore: file.path, error)
    }
    do {
      try assertUnchanged(file, descriptor)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }
}
