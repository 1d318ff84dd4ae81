import Foundation
import Properations
import TestSupport

@testable import MediaIngest

/// An ingest in this process, from the folder `in` to the folder `out`.
struct Ingesting {
  let folder: TemporaryFolder
  let queue = TaskQueue()
  let ledger = Ledger()
  var plan: IngestPlan

  init(_ folder: TemporaryFolder, options: [String] = []) throws {
    self.folder = folder
    let arguments = ["--output", folder.path("out")] + options + [folder.path("in")]
    plan = IngestPlan(try Options(arguments), ledger: ledger)
    plan.delays = { _ in .milliseconds(1) }
  }

  /// Adds the tasks to the queue.
  func start() -> IngestFolder {
    let scan = ScanFolder(folder.path("in"), except: plan.output.root)
    let ingest = IngestFolder(plan, producing: scan)
    queue.addTask(scan)
    queue.addTask(ingest)
    return ingest
  }

  /// Waits until the tasks have finished.
  func end(_ ingest: IngestFolder) async -> Summary {
    _ = await ingest.completion
    ledger.close(ingest.produced)
    return ledger.summary
  }

  func run() async -> Summary { await end(start()) }
}

/// Ingests the folder `in`.
func ingest(_ folder: TemporaryFolder, options: [String] = []) async throws -> Summary {
  try await Ingesting(folder, options: options).run()
}

extension Summary {
  /// The numbers of files written, done before and failed.
  var counts: [Int] { [written, unchanged, failed] }
}

extension TemporaryFolder {
  /// Reads the sidecar of a file.
  func sidecar(of name: String) -> Sidecar? { Sidecar(at: path("out/\(name).json")) }

  /// The names of all files in the output except the lock.
  func output() throws -> [String] {
    try names(below: "out").filter { $0 != ".ingest.lock" }
  }
}
