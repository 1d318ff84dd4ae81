import Foundation

/// The system calls of a journal.
///
/// Tests replace them with calls that fail or wait.
struct JournalDevice: Sendable {
  /// Writes some of the bytes; returns how many, or the negative error number.
  var write: @Sendable (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int
  /// Waits until everything written is on the disk; returns the error number, or zero.
  var sync: @Sendable (_ descriptor: Int32) -> Int32

  static let system = JournalDevice(
    write: { descriptor, bytes in
      let count = Foundation.write(descriptor, bytes.baseAddress, bytes.count)
      return count < 0 ? -Int(errno) : count
    },
    sync: { descriptor in
      emptyDriveCache(descriptor) || fsync(descriptor) == 0 ? 0 : errno
    })

  /// Writes all of the bytes; returns the error number, or zero.
  func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest))
        if count == -Int(EINTR) { continue }
        if count < 0 { return Int32(-count) }
        rest = rest.dropFirst(count)
      }
      return 0
    }
  }
}

/// An open journal, locked for this process.
///
/// It is closed with its last reference.
///
/// A file is created and repaired by writing another file in its place. The file with the
/// journal's name is therefore always complete, however the process ends.
final class JournalFile: Sendable {
  let url: URL
  let device: JournalDevice
  let descriptor: Int32

  private init(url: URL, device: JournalDevice, descriptor: Int32) {
    self.url = url
    self.device = device
    self.descriptor = descriptor
  }

  deinit { Self.unlockAndClose(descriptor) }

  /// Opens and locks a file.
  ///
  /// Creates an empty one if there is none.
  static func open(_ url: URL, device: JournalDevice) throws(WorkflowJournalError) -> JournalFile {
    guard url.isFileURL else { throw .unusable(url, code: EINVAL) }
    let name = url
    while true {
      // A symbolic link stays one when its file is replaced.
      let url = name.resolvingSymlinksInPath()
      let file = try JournalFile(
        url: url, device: device, path: url.path, flags: O_RDWR | O_CREAT | O_APPEND)
      // Other kinds of files, such as devices, have no end.
      var opened = stat()
      guard fstat(file.descriptor, &opened) == 0, opened.st_mode & S_IFMT == S_IFREG else {
        throw .notAJournal(url)
      }
      // The process that held the file may have replaced it after this one opened it.
      if file.hasItsName,
        // The target of a link may exist only since this call has opened it.
        name.resolvingSymlinksInPath() == url
      {
        file.removeLeftover()
        return file
      }
    }
  }

  private convenience init(
    url: URL, device: JournalDevice, path: String, flags: Int32
  ) throws(WorkflowJournalError) {
    let descriptor = Foundation.open(path, flags | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      let code = errno
      throw .unusable(code == EEXIST ? URL(fileURLWithPath: path) : url, code: code)
    }
    self.init(url: url, device: device, descriptor: descriptor)
    // The lock belongs to the open file: it ends with the process, and also excludes
    // other openings in the same process.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw errno == EWOULDBLOCK ? .inUse(url) : .unusable(url, code: errno)
    }
  }

  /// Closes a file, and gives its lock up even if another process has the file.
  ///
  /// A process that is being launched has a copy of each descriptor until its program begins,
  /// and the lock would last as long.
  private static func unlockAndClose(_ descriptor: Int32) {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Whether the file is still the one with the journal's name.
  var hasItsName: Bool {
    var (opened, named) = (stat(), stat())
    return fstat(descriptor, &opened) == 0 && stat(url.path, &named) == 0
      && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
  }

  /// Returns all bytes of the file.
  func read() throws(WorkflowJournalError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = pread(descriptor, &buffer, buffer.count, off_t(bytes.count))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .unusable(url, code: errno) }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }

  /// The path of the file that is written to replace this one.
  ///
  /// The name is hidden, and begins with the name of the library: nothing else has such a
  /// name. Its length does not depend on the length of the journal's name, which may be as
  /// long as names can be.
  var temporaryPath: String {
    var name = url.lastPathComponent
    let sum = name.withUTF8 { JournalFormat.checksum(of: UnsafeRawBufferPointer($0), salt: 0) }
    let folder = url.deletingLastPathComponent()
    return folder.appendingPathComponent(".properations-journal-" + JournalFormat.hex(sum)).path
  }

  /// Removes the file that a process has left that was killed while it replaced this one.
  ///
  /// Only the process that holds the lock of this file writes that one. Any other file with
  /// its name stays.
  private func removeLeftover() {
    let path = temporaryPath
    // (A pipe would wait for a process at its other end.)
    let leftover = Foundation.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard leftover >= 0 else { return }
    defer { Self.unlockAndClose(leftover) }
    var status = stat()
    guard fstat(leftover, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      flock(leftover, LOCK_EX | LOCK_NB) == 0
    else { return }
    var bytes = [UInt8](repeating: 0, count: JournalFormat.headerLineLength)
    let count = pread(leftover, &bytes, bytes.count, 0)
    guard count >= 0, JournalContents.mayBegin(with: bytes[..<count]) else { return }
    unlink(path)
  }

  /// Replaces this file by one with other bytes.
  ///
  /// This object must not be used afterwards.
  func replaced(with bytes: [UInt8]) throws(WorkflowJournalError) -> JournalFile {
    let path = temporaryPath
    let new = try JournalFile(
      url: url, device: device, path: path, flags: O_RDWR | O_CREAT | O_EXCL | O_APPEND)
    var status = stat()
    if fstat(descriptor, &status) == 0 { fchmod(new.descriptor, status.st_mode & 0o7777) }
    var code = device.writeAll(bytes, to: new.descriptor)
    if code == 0 { code = device.sync(new.descriptor) }
    if code == 0, rename(path, url.path) != 0 { code = errno }
    guard code == 0 else {
      unlink(path)
      throw .unusable(url, code: code)
    }
    syncFolder()
    return new
  }

  /// Syncs the folder, because it contains the name of the file.
  private func syncFolder() {
    let folder = Foundation.open(url.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    // Some file systems cannot sync a folder; they do it with the file.
    _ = device.sync(folder)
    close(folder)
  }

  /// Appends bytes and waits until they are on the disk; returns the error numbers, or
  /// zeros.
  func append(_ bytes: [UInt8]) -> (write: Int32, sync: Int32) {
    let code = device.writeAll(bytes, to: descriptor)
    return code == 0 ? (0, device.sync(descriptor)) : (code, 0)
  }

  /// Removes what was appended beyond a length; returns whether that succeeded.
  func cut(to length: Int) -> Bool { ftruncate(descriptor, off_t(length)) == 0 }
}
