import Foundation
import Properations

/// A task that writes a sidecar to its place.
final class WriteSidecar: ConsumerTask<Data, Problem>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let target: String
  private let folder: OutputFolder

  init(to name: String, in folder: OutputFolder, producing text: ProducingTask) {
    target = name
    self.folder = folder
    super.init(name: "write \(name)", producing: text)
  }

  override func execute(with consumed: Consumed) {
    finish(with: consumed.tryMap { text throws(Problem) in try folder.write(text, to: target) })
  }
}
