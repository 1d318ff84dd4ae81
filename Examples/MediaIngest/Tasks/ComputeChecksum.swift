import Properations

/// A task that computes the SHA-256 of a file, piece by piece.
final class ComputeChecksum: ConsumerProducerTask<OpenFile, String, Problem>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private static let pieceSize = 256 << 10
  private let ledger: Ledger

  init(_ ledger: Ledger, producing content: ProducingTask) {
    self.ledger = ledger
    super.init(producing: content)
  }

  override func execute(with consumed: Consumed) {
    switch consumed {
    case .success(let content):
      do throws(Problem) {
        // `nil`: it was cancelled, and is finished as such when this returns.
        if let checksum = try checksum(of: content) { finish(with: .success(checksum)) }
      } catch {
        finish(with: .failure(.provided(error)))
      }
    case .failure(let error):
      finish(with: .failure(error))
    }
  }

  private func checksum(of content: OpenFile) throws(Problem) -> String? {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
    defer { buffer.deallocate() }
    var digest = SHA256()
    var offset: Int64 = 0
    while !isCancelled {
      let count = try content.read(at: offset, into: buffer)
      guard count > 0 else {
        try content.assertUnchanged()
        return digest.finalize()
      }
      digest.update(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
      offset += Int64(count)
      ledger.add(bytesRead: count)
    }
    return nil
  }
}
