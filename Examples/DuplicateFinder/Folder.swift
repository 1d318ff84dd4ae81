import ExampleSupport
import Foundation
import Properations

/// A folder to read.
struct Folder: Sendable {
  /// The relevant content of a folder.
  struct Listing: Sendable {
    var files: [File] = []
    var folders: [Folder] = []
    var problems: [Problem] = []
    var emptyFiles = 0
  }

  let path: Path
  let id: FileStatus.ID

  /// Reads the folder; throws a `Problem` if that fails.
  ///
  /// - Parameters:
  ///   - isLeftOut: Whether a name in this folder is excluded or has been found before.
  ///   - staysOnFileSystem: Whether files and folders on other file systems are skipped.
  ///   - scope: Ends the reading when cancelled, also in the middle of a long folder.
  func list(
    except isLeftOut: (UnsafePointer<CChar>) -> Bool,
    stayingOnFileSystem staysOnFileSystem: Bool = false,
    until scope: CancellationScope
  ) throws(Problem) -> Listing {
    do throws(SystemError) {
      let descriptor = try systemCall {
        path.withCString { open($0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
      }
      guard let stream = fdopendir(descriptor) else {
        let error = SystemError(code: errno)
        close(descriptor)
        throw error
      }
      defer { closedir(stream) }
      guard try FileStatus(of: descriptor).id == id else { throw SystemError(code: ENOENT) }

      var listing = Listing()
      var count = 0
      while let name = try nextName(in: stream) {
        count += 1
        if count % 256 == 0, scope.isCancelled { break }
        if !isLeftOut(name) { add(name, in: descriptor, staysOnFileSystem, to: &listing) }
      }
      return listing
    } catch {
      throw Problem(seenBefore: path, error)
    }
  }

  private func add(
    _ cString: UnsafePointer<CChar>, in descriptor: Int32, _ staysOnFileSystem: Bool,
    to listing: inout Listing
  ) {
    let name = UnsafeRawBufferPointer(start: cString, count: strlen(cString))
    do throws(SystemError) {
      let status = try FileStatus { fstatat(descriptor, cString, &$0, AT_SYMLINK_NOFOLLOW) }
      if staysOnFileSystem, status.id.device != id.device { return }
      switch status.kind {
      case .file:
        listing.files.append(File(path: path.appending(name), status: status))
        if status.size == 0 { listing.emptyFiles += 1 }
      case .folder: listing.folders.append(Folder(path: path.appending(name), id: status.id))
      case .link, .other: break
      }
    } catch {
      listing.problems.append(Problem(seenBefore: path.appending(name), error))
    }
  }
}

#if canImport(Darwin)
  private typealias FolderStream = UnsafeMutablePointer<DIR>
#else
  private typealias FolderStream = OpaquePointer
#endif

/// Returns the next name in a folder that may belong to a file or a folder; `nil` at the
/// end.
///
/// The name is valid until the next call.
private func nextName(
  in stream: FolderStream
) throws(SystemError) -> UnsafePointer<CChar>? {
  while true {
    errno = 0
    guard let entry = readdir(stream) else {
      if errno != 0 { throw SystemError(code: errno) }
      return nil
    }
    // By address: the entry may be shorter than its type.
    let address = UnsafeRawPointer(entry)
    let type = address.load(
      fromByteOffset: MemoryLayout<dirent>.offset(of: \dirent.d_type)!, as: UInt8.self)
    switch Int(type) {
    case Int(DT_REG), Int(DT_DIR), Int(DT_UNKNOWN): break
    default: continue
    }
    let name = address.advanced(by: MemoryLayout<dirent>.offset(of: \dirent.d_name)!)
      .assumingMemoryBound(to: CChar.self)
    if strcmp(name, ".") != 0, strcmp(name, "..") != 0 { return name }
  }
}
