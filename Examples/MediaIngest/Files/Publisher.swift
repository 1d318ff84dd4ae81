import Foundation
import Properations

/// Syncs and renames sidecars, many at a time.
///
/// One sync serves all sidecars written since the last one. It happens when enough
/// sidecars have been written, half a second after the first one, or at the end. Until
/// then a file does not count as done.
final class Publisher: Sendable {
  private let sidecars: Batcher<OutputTree.Unpublished, Void>
  /// One sync at a time.
  private let queue = OperationQueue()

  /// - Parameter sync: Brings the written sidecars to the disk; tests count the calls.
  init(
    _ output: OutputTree, _ ledger: Ledger, sync: @escaping @Sendable () throws(Problem) -> Void
  ) {
    queue.name = "MediaIngest publisher"
    queue.maxConcurrentOperationCount = 1
    sidecars = Batcher(maxSize: 1024, maxDelay: .milliseconds(500), on: queue) { files in
      Self.publish(files, to: output, ledger, sync)
      return Promises.makeSucceeded(with: files.map { _ in })
    }
  }

  /// Adds a sidecar that was written.
  func add(_ file: OutputTree.Unpublished) { _ = sidecars.add(file) }

  /// Publishes all sidecars before it returns.
  func finish() { _ = try? sidecars.flush().wait() }

  private static func publish(
    _ files: [OutputTree.Unpublished], to output: OutputTree, _ ledger: Ledger,
    _ sync: () throws(Problem) -> Void
  ) {
    do throws(Problem) {
      try sync()
    } catch {
      return ledger.stop(error, failing: files.count)
    }
    var published: [Sidecar] = []
    for file in files {
      do throws(Problem) {
        try output.publish(file)
        published.append(file.sidecar)
      } catch {
        ledger.add(error)
      }
    }
    ledger.add(published)
  }
}
