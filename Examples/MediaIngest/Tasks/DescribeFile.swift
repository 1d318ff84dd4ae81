import ExampleSupport
import Properations

/// A task that describes one file: type, dimensions or duration, and SHA-256.
///
/// The first bytes tell the type, the headers the dimensions or duration. The whole file
/// is read piece by piece for the digest. This is one task instead of three: the file is
/// opened only once, and more tasks would take longer than reading a small file.
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
      // `nil`: the task was cancelled. It finishes as cancelled when `execute` returns.
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
