import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Finds all files under some paths.
///
/// The folders of one level are read in parallel, each as a future. The next level
/// follows when all have been read. So a deep or large tree needs no deep stack, and at
/// most `width` folders are open.
final class FolderScanner: Sendable {
  /// A name in a folder, equal for every spelling of the path.
  private struct Entry: Hashable {
    let folder: FileStatus.ID
    let name: [UInt8]
  }

  private let options: Options
  private let queue: OperationQueue
  private let width: Int
  private let scope: CancellationScope
  private let findings: Findings
  /// The folders and files found so far: the given paths may repeat or contain each
  /// other.
  private let visitedFolders = Mutex<Set<FileStatus.ID>>([])
  private let givenFiles = Mutex<Set<Entry>>([])

  init(
    _ options: Options, on queue: OperationQueue, width: Int, until scope: CancellationScope,
    findings: Findings
  ) {
    self.options = options
    self.queue = queue
    self.width = width
    self.scope = scope
    self.findings = findings
  }

  /// Scans each path and everything below it.
  func scan(_ paths: [Path]) -> Future<[File]> {
    Promises.run(on: queue) { self.listing(of: paths) }
      .mapToFuture(on: .inline) { given in self.walk(given.folders, found: [given.files]) }
  }

  private func walk(_ folders: [Folder], found: [[File]]) -> Future<[File]> {
    let folders = folders.filter { folder in
      visitedFolders.withLock { $0.insert(folder.id).inserted }
    }
    guard !folders.isEmpty else { return Promises.makeSucceeded(with: Array(found.joined())) }
    return Promises.traverse(folders, on: queue, maxConcurrent: width) {
      Promises.makeSucceeded(with: self.read($0))
    }
    .mapToFuture(on: .inline) { listings in
      self.walk(listings.flatMap(\.folders), found: found + listings.map(\.files))
    }
  }

  /// Reads a folder; a folder that cannot be read becomes a problem, and the scan
  /// continues.
  private func read(_ folder: Folder) -> Folder.Listing {
    let givenFiles = givenFiles.withLock { $0 }
    let listing: Folder.Listing
    do throws(Problem) {
      listing = try folder.list(
        except: { name in
          options.exclusions.contains { $0.fits(name, in: folder.path) }
            || !givenFiles.isEmpty
              && givenFiles.contains(Entry(folder: folder.id, name: Path(cString: name).bytes))
        }, stayingOnFileSystem: options.staysOnFileSystem, until: scope)
    } catch {
      listing = Folder.Listing(problems: [error])
    }
    findings.add(listing)
    return listing
  }

  /// The given paths, as if they were the content of a folder.
  private func listing(of paths: [Path]) -> Folder.Listing {
    var listing = Folder.Listing()
    for path in paths {
      do throws(SystemError) {
        let status = try FileStatus(of: path)
        switch status.kind {
        case .file where try isNew(path):
          listing.files.append(File(path: path, status: status))
        case .file: break
        case .folder:
          listing.folders.append(Folder(path: path, id: status.id))
        case .link:
          let advice = "is a symbolic link; add a slash at its end to search its target"
          listing.problems.append(Problem(path, .unsupported, advice))
        case .other:
          listing.problems.append(Problem(path, .unsupported, "is neither a file nor a folder"))
        }
      } catch {
        listing.problems.append(Problem(path, error))
      }
    }
    findings.add(listing)
    return listing
  }

  private func isNew(_ path: Path) throws(SystemError) -> Bool {
    let (parent, name) = path.parentAndName
    let entry = Entry(folder: try FileStatus(of: parent).id, name: name)
    return givenFiles.withLock { $0.insert(entry).inserted }
  }
}
