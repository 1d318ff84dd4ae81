import ExampleSupport
import Foundation
import Properations
import Synchronization

/// The folders that the sidecars go to: one for each that has files.
final class OutputTree: Sendable {
  let root: String
  private let folders = Mutex<[String: OutputFolder]>([:])
  private let lock = Mutex<Int32?>(nil)

  init(root: String) { self.root = root }

  deinit { release() }

  /// The folder that a file's sidecar belongs in; the same object every time.
  func folder(of file: SourceFile) -> OutputFolder {
    let names = file.name.split(separator: "/").dropLast()
    let path = names.reduce(root) { path, name in path.appending(name: String(name)) }
    return folders.withLock { folders in
      if let folder = folders[path] { return folder }
      let folder = OutputFolder(path: path)
      folders[path] = folder
      return folder
    }
  }

  /// Makes the folder, and keeps other processes out of it.
  func claim() throws(Problem) {
    do {
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    } catch {
      throw Problem(root, error)
    }
    do throws(SystemError) {
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
  }

  /// Lets other processes in.
  func release() {
    if let descriptor = lock.withLock({ $0.take() }) { close(descriptor) }
  }
}

/// A folder that sidecars go to.
final class OutputFolder: Sendable {
  let path: String
  /// Makes the folder; once, however many files wait for it.
  let making: GatedTask
  private let operation: MakeFolder

  init(path: String) {
    self.path = path
    operation = MakeFolder(path)
    making = GatedTask(name: "make \(path)", operation: operation)
  }

  /// Why the folder could not be made.
  var problem: Problem? { operation.problem }

  /// Writes a file in one step: whoever looks sees it whole, or not at all.
  ///
  /// Under way it has a name that is the same for all files of the folder: what
  /// an interruption leaves behind is one file, and the next run takes its
  /// place. So only one task may write in a folder at a time.
  func write(_ data: Data, to name: String) throws(Problem) {
    let (partial, final) = (path.appending(name: ".ingest.partial"), path.appending(name: name))
    do {
      try data.write(to: URL(fileURLWithPath: partial))
    } catch {
      unlink(partial)
      throw Problem(final, error)
    }
    do {
      try systemCall { rename(partial, final) }
    } catch {
      unlink(partial)
      throw Problem(final, error)
    }
  }
}

/// An operation as any program may have some: it knows nothing of tasks.
private final class MakeFolder: Operation, @unchecked Sendable {
  // Sendable: the problem has a lock, the path never changes.
  private let path: String
  private let found = Mutex<Problem?>(nil)

  init(_ path: String) { self.path = path }

  var problem: Problem? { found.withLock { $0 } }

  override func main() {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      let problem = Problem(path, error)
      found.withLock { $0 = problem }
    }
  }
}
