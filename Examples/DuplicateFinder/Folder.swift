import ExampleSupport
import Foundation
import Properations

/// A folder that is to be read.
struct Folder: Sendable {
  /// What is in a folder, as far as it matters here.
  struct Listing: Sendable {
    var files: [File] = []
    var folders: [Folder] = []
    var problems: [Problem] = []
  }

  let path: Path
  let id: FileStatus.ID

  /// Reads the folder; throws a `Problem` if that is not possible.
  ///
  /// - Parameters:
  ///   - isKnown: Whether a name in this folder has been found before.
  ///   - scope: Ends the reading, also in the middle of a very long folder.
  func list(except isKnown: ([UInt8]) -> Bool, until scope: CancellationScope) throws -> Listing {
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
        if !isKnown(name) { add(name, in: descriptor, to: &listing) }
      }
      return listing
    } catch {
      throw Problem(seenBefore: path, error)
    }
  }

  private func add(_ name: [UInt8], in descriptor: Int32, to listing: inout Listing) {
    let path = path.appending(name)
    do throws(SystemError) {
      let status = try FileStatus(of: Path(bytes: name), inFolder: descriptor)
      switch status.kind {
      case .file: listing.files.append(File(path: path, status: status))
      case .folder: listing.folders.append(Folder(path: path, id: status.id))
      case .link, .other: break
      }
    } catch {
      listing.problems.append(Problem(seenBefore: path, error))
    }
  }
}

#if canImport(Darwin)
  private typealias FolderStream = UnsafeMutablePointer<DIR>
#else
  private typealias FolderStream = OpaquePointer
#endif

/// The next name in a folder but `.` and `..`; `nil` at its end.
private func nextName(in stream: FolderStream) throws(SystemError) -> [UInt8]? {
  while true {
    errno = 0
    guard let entry = readdir(stream) else {
      if errno != 0 { throw SystemError(code: errno) }
      return nil
    }
    // By address: the entry may be shorter than its type says.
    let offset = MemoryLayout<dirent>.offset(of: \dirent.d_name)!
    let cString = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
    let name = Path(cString: cString)
    if name != Path("."), name != Path("..") { return name.bytes }
  }
}
