import ExampleSupport
import Foundation
import Properations
import Synchronization

/// The output folders: one for each folder that has files.
///
/// A sidecar is first written under a temporary name in a separate folder. Later one sync
/// brings all sidecars written so far to the disk, and each is renamed to its place. So a
/// sidecar in its place is complete, also after a power failure, and one sync serves many
/// files.
final class OutputTree: Sendable {
  /// A sidecar that was written, but not renamed to its place yet.
  struct Unpublished: Sendable {
    let sidecar: Sidecar
    fileprivate let path: String
    fileprivate let target: String
  }

  let root: String
  private let folders = Mutex<[String: OutputFolder]>([:])
  private let lock = Mutex<Int32?>(nil)
  private let number = Atomic<Int>(0)

  /// The folder of unpublished sidecars, and the number of folders in it.
  ///
  /// A system makes the files of one folder one after the other, and takes longer for
  /// each the more there are.
  private let unpublished: String
  private static let parts = 16

  init(root: String) {
    self.root = root
    unpublished = root.appending(name: ".ingest.partial")
  }

  deinit { release() }

  /// Returns the folder of a sidecar: the same object every time.
  func folder(of place: SidecarPlace) -> OutputFolder {
    folders.withLock { folders in
      if let folder = folders[place.folder] { return folder }
      let folder = OutputFolder(path: root.appending(name: place.folder))
      folders[place.folder] = folder
      return folder
    }
  }

  /// Makes the folder, locks out other processes, and removes leftovers of killed runs.
  func claim() throws(Problem) {
    do throws(SystemError) {
      try OutputFolder.make(root)
      let path = root.appending(name: ".ingest.lock")
      let descriptor = try systemCall { open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644) }
      release()
      lock.withLock { $0 = descriptor }
      try systemCall { flock(descriptor, LOCK_EX | LOCK_NB) }
    } catch  where error.code == EWOULDBLOCK {
      throw Problem(root, "another MediaIngest is writing there")
    } catch {
      throw Problem(root, error)
    }
    do {
      try? FileManager.default.removeItem(atPath: unpublished)
      try systemCall { mkdir(unpublished, 0o755) }
      for part in 0..<Self.parts {
        let path = unpublished.appending(name: String(part))
        try systemCall { mkdir(path, 0o755) }
      }
    } catch {
      throw Problem(unpublished, error)
    }
  }

  /// Unlocks the folder for other processes.
  func release() {
    guard let descriptor = lock.withLock({ $0.take() }) else { return }
    close(descriptor)
  }

  /// Removes the folder of unpublished sidecars.
  func tidyUp() { try? FileManager.default.removeItem(atPath: unpublished) }

  /// Writes a sidecar under a temporary name.
  func write(_ sidecar: Sidecar, for place: SidecarPlace) throws(Problem) -> Unpublished {
    let number = number.wrappingAdd(1, ordering: .relaxed).newValue
    let path = unpublished.appending(name: "\(number % Self.parts)/\(number)")
    let target = root.appending(name: place.path)
    do throws(SystemError) {
      try TextFile.write(sidecar.text, to: path)
    } catch {
      unlink(path)
      throw Problem(target, error)
    }
    return Unpublished(sidecar: sidecar, path: path, target: target)
  }

  /// Brings all written sidecars to the disk.
  func sync() throws(Problem) {
    do throws(SystemError) {
      let descriptor = try systemCall { open(unpublished, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      defer { close(descriptor) }
      try Self.sync(fileSystemOf: descriptor)
    } catch {
      throw Problem(root, error)
    }
  }

  /// Renames a sidecar to its place.
  func publish(_ file: Unpublished) throws(Problem) {
    do throws(SystemError) {
      try systemCall { rename(file.path, file.target) }
    } catch {
      unlink(file.path)
      throw Problem(file.target, error)
    }
  }

  #if canImport(Darwin)
    private static func sync(fileSystemOf descriptor: Int32) throws(SystemError) {
      // First the buffers of all file systems, then the drive's own.
      Foundation.sync()
      try systemCall { fcntl(descriptor, F_FULLFSYNC) }
    }
  #else
    /// Looked up by name: Foundation does not declare it.
    private static let syncfs: (@convention(c) (Int32) -> Int32)? =
      dlsym(nil, "syncfs").map { unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self) }

    private static func sync(fileSystemOf descriptor: Int32) throws(SystemError) {
      guard let syncfs else { return Foundation.sync() }
      try systemCall { syncfs(descriptor) }
    }
  #endif
}

/// A folder for sidecars.
final class OutputFolder: Sendable {
  let path: String
  /// Makes the folder, once, for all files that wait for it.
  let making: GatedTask
  private let operation: MakeFolder

  init(path: String) {
    self.path = path
    operation = MakeFolder(path)
    making = GatedTask(name: "make \(path)", operation: operation)
  }

  /// The error, if the folder could not be made.
  var problem: Problem? { operation.problem }

  /// Whether the folder exists, so that no file has to wait for it.
  var isMade: Bool { operation.isMade }

  /// Whether this run has made the folder, so that it has no sidecars of earlier runs.
  var isNew: Bool { operation.isNew }

  /// Makes a folder and its missing parents.
  ///
  /// - Returns: `false` if the folder exists already.
  @discardableResult
  static func make(_ path: String) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try systemCall { mkdir(path, 0o755) }
      return true
    } catch {
      switch error.code {
      case EEXIST:
        guard try FileStatus(following: path).kind == .folder else {
          throw SystemError(code: ENOTDIR)
        }
        return false
      case ENOENT:
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        guard !parent.isEmpty else { throw error }
        try make(path.hasPrefix("/") ? "/\(parent)" : parent)
        return try make(path)
      default: throw error
      }
    }
  }
}

/// An ordinary operation that knows nothing of tasks.
private final class MakeFolder: Operation, @unchecked Sendable {
  // Sendable: a mutex guards the outcome; the path never changes.
  private let path: String
  private let outcome = Mutex<Result<Bool, Problem>?>(nil)

  init(_ path: String) { self.path = path }

  var problem: Problem? {
    outcome.withLock { if case .failure(let problem) = $0 { problem } else { nil } }
  }

  var isMade: Bool { outcome.withLock { if case .success = $0 { true } else { false } } }

  var isNew: Bool { outcome.withLock { if case .success(true) = $0 { true } else { false } } }

  override func main() {
    do throws(SystemError) {
      let isNew = try OutputFolder.make(path)
      outcome.withLock { $0 = .success(isNew) }
    } catch {
      let problem = Problem(path, error)
      outcome.withLock { $0 = .failure(problem) }
    }
  }
}
