import ExampleSupport
import Properations

/// A task that finds out what one file is: its type by its first bytes, its dimensions or
/// its duration by its headers, and its SHA-256 by all of it, piece by piece.
///
/// One task and not one for each: the file is open only once, and for a small file more
/// tasks would take longer than the reading.
final class DescribeFile: ProducerTask<Sidecar, Problem>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private static let pieceSize: Int64 = 256 << 10
  private let file: SourceFile
  private let plan: IngestPlan

  init(_ file: SourceFile, _ plan: IngestPlan) {
    self.file = file
    self.plan = plan
    super.init(name: "describe \(file.name)")
    addObserver(Observers.Timeout(plan.timeLimit))
  }

  override func execute() {
    do throws(Problem) {
      let content = try plan.open(file)
      try content.assertUnchanged()
      let type = MediaType(head: try content.head(MediaType.headLength))
      let details = try MediaDetails(type) { (offset, count) throws(Problem) in
        try content.bytes(at: offset, count)
      }
      // `nil`: it was cancelled, and is finished as such when this returns.
      guard let checksum = try checksum(of: content) else { return }
      finish(with: .success(Sidecar(file, type, details, sha256: checksum)))
    } catch {
      finish(with: .failure(.provided(error)))
    }
  }

  private func checksum(of content: OpenFile) throws(Problem) -> String? {
    let size = Int(max(1, min(file.status.size, Self.pieceSize)))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
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
      plan.ledger.add(bytesRead: count)
    }
    return nil
  }
}
