import Properations

/// A task that tells by its first bytes what a file is.
final class Identify: ConsumerProducerTask<OpenFile, MediaType, Problem>, @unchecked Sendable {
  // Sendable: adds no state.

  override func execute(with consumed: Consumed) {
    finish(
      with: consumed.tryMap { content throws(Problem) in
        MediaType(head: try content.head(MediaType.headLength))
      })
  }
}
