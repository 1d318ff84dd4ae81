import ExampleSupport
import Foundation
import Properations

/// The files to ingest.
struct Scan: Sendable {
  /// Sorted by name.
  var files: [SourceFile] = []
  /// The files and folders that could not be read.
  var problems: [Problem] = []
}

/// A task that finds all files in a folder and its subfolders.
final class ScanFolder: ProducerTask<Scan, Problem>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let folder: String
  private let output: String

  /// - Parameter output: A folder to skip.
  init(_ folder: String, except output: String) {
    self.folder = folder
    self.output = output
    super.init(name: "scan \(folder)")
  }

  override func execute() {
    let outputID = try? FileStatus(following: output).id
    var scan = Scan()
    var pending = [""]
    while let parent = pending.popLast() {
      let path = parent.isEmpty ? folder : folder.appending(name: parent)
      do {
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
          // A cancelled task finishes as cancelled when `execute` returns.
          if isCancelled { return }
          if name.hasPrefix(".") { continue }
          look(at: parent.appending(name: name), except: outputID, &scan, &pending)
        }
      } catch {
        if parent.isEmpty { return finish(with: .failure(.provided(Problem(folder, error)))) }
        scan.problems.append(Problem(parent, error))
      }
    }
    scan.files.sort { $0.name < $1.name }
    finish(with: .success(scan))
  }

  private func look(
    at name: String, except outputID: FileStatus.ID?, _ scan: inout Scan, _ pending: inout [String]
  ) {
    let path = folder.appending(name: name)
    do throws(SystemError) {
      let status = try FileStatus(of: path)
      switch status.kind {
      case .file: scan.files.append(SourceFile(path: path, name: name, status: status))
      case .folder where status.id != outputID: pending.append(name)
      case .folder, .link, .other: break
      }
    } catch {
      // Foundation puts this character in the place of bytes that are not UTF-8.
      let isGarbled = name.contains("\u{FFFD}")
      scan.problems.append(
        isGarbled ? Problem(name, "has a name that is not UTF-8") : Problem(name, error))
    }
  }
}
