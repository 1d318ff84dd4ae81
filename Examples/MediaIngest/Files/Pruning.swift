import ExampleSupport
import Foundation

/// Removes the sidecars of files that are gone.
///
/// Only complete sidecars in the place where the program puts them are removed; all other
/// files stay. Folders that are then empty are removed too.
struct Pruning {
  private let root: String
  private let wanted: Set<String>
  private(set) var count = 0
  private(set) var problems: [Problem] = []

  init(_ output: OutputTree, keepingThoseOf files: [SourceFile]) {
    root = output.root
    wanted = Set(files.map { SidecarPlace(of: $0.name).path })
    prune("")
  }

  /// - Returns: Whether the folder is empty now.
  @discardableResult
  private mutating func prune(_ folder: String) -> Bool {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: root.appending(name: folder))
    } catch {
      problems.append(Problem(root.appending(name: folder), error))
      return false
    }
    var isEmpty = true
    for name in names {
      let path = folder.appending(name: name)
      if !removes(path) { isEmpty = false }
    }
    return isEmpty
  }

  private mutating func removes(_ path: String) -> Bool {
    let place = root.appending(name: path)
    do throws(SystemError) {
      switch try FileStatus(of: place).kind {
      case .folder:
        guard prune(path) else { return false }
        try systemCall { rmdir(place) }
        return true
      case .file where path.hasSuffix(".json") && !wanted.contains(path):
        guard let sidecar = Sidecar(at: place), SidecarPlace(of: sidecar.file).path == path else {
          return false
        }
        try systemCall { unlink(place) }
        count += 1
        return true
      default: return false
      }
    } catch {
      problems.append(Problem(place, error))
      return false
    }
  }
}
