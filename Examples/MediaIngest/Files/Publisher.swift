import Foundation
import Properations
import Synchronization

/// Syncs and renames sidecars, many at a time.
///
/// One sync serves all sidecars written since the last one. It happens when enough
/// sidecars have been written, half a second after the first one, or at the end. Until
/// then a file does not count as done.
final class Publisher: Sendable {
  /// The number of waiting sidecars that starts a sync.
  static let batch = 4096

  private let output: OutputTree
  private let ledger: Ledger
  private let sync: @Sendable () throws(Problem) -> Void
  private let waiting = Mutex<[OutputTree.Unpublished]>([])
  /// One sync at a time.
  private let queue: OperationQueue = {
    let queue = OperationQueue()
    queue.name = "MediaIngest publisher"
    queue.maxConcurrentOperationCount = 1
    return queue
  }()

  /// - Parameter sync: Brings the written sidecars to the disk; tests count the calls.
  init(
    _ output: OutputTree, _ ledger: Ledger, sync: @escaping @Sendable () throws(Problem) -> Void
  ) {
    self.output = output
    self.ledger = ledger
    self.sync = sync
  }

  /// Adds a sidecar that was written.
  func add(_ file: OutputTree.Unpublished) {
    let count = waiting.withLock { waiting in
      waiting.append(file)
      return waiting.count
    }
    if count == 1 {
      Promises.delay(for: .milliseconds(500))
        .onSuccess(on: queue) { [weak self] in self?.publishAll() }
    } else if count == Self.batch {
      queue.addOperation { [self] in publishAll() }
    }
  }

  /// Publishes all sidecars before it returns.
  func finish() {
    queue.waitUntilAllOperationsAreFinished()
    publishAll()
  }

  private func publishAll() {
    let files = waiting.withLock { waiting in
      let files = waiting
      waiting = []
      return files
    }
    guard !files.isEmpty else { return }
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
