import Foundation

/// Finds out whether a dispatch queue runs other blocks while one of its blocks is
/// running.
///
/// While all threads are busy, no queue runs another block. So a second block, in a queue of
/// the system, is the measure.
final class DispatchProbe: Sendable {
  /// Which of the two blocks have run.
  private let blocks = Lock((here: false, elsewhere: false))
  let name: String

  init(_ queue: DispatchQueue) {
    name = "the dispatch queue \"\(queue.label)\""
    SchedulingPoints.handOff()
    queue.async { self.blocks.withLock { $0.here = true } }
    // Behind the block above, if the queue is concurrent.
    DispatchQueue.global(qos: queue.qos.qosClass).async {
      self.blocks.withLock { $0.elsewhere = true }
    }
  }

  /// Whether the block in the queue has run.
  var hasRun: Bool { blocks.withLock { $0.here } }

  /// Whether the queue seems to run one block after the other.
  var looksSerial: Bool { blocks.withLock { !$0.here && $0.elsewhere } }
}
