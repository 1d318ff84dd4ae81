import Properations

/// A task that finds out what one file is.
///
///   OpenContent ┬▶ Identify ──────────┐
///               └▶ ComputeChecksum ──▶ zip ─▶ map
final class DescribeFile: GroupProducerTask<Sidecar, Problem>, @unchecked Sendable {
  // Sendable: adds no state.

  init(_ file: SourceFile, _ plan: IngestPlan) {
    let timeout = Observers.Timeout(plan.timeLimit)
    let content = OpenContent(of: file, plan).addObserver(timeout)
    let type = Identify(producing: content).addObserver(timeout)
    let checksum = ComputeChecksum(plan.ledger, producing: content).addObserver(timeout)
    let sidecar = type.zip(checksum)
      .map { type, checksum in Sidecar(file, type, sha256: checksum) }

    super.init(name: "describe \(file.name)", tasks: (content, type, checksum), produced: sidecar)
  }
}

/// A task that opens a file.
final class OpenContent: ProducerTask<OpenFile, Problem>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let file: SourceFile
  private let plan: IngestPlan

  init(of file: SourceFile, _ plan: IngestPlan) {
    self.file = file
    self.plan = plan
    super.init(name: "open \(file.name)")
  }

  override func execute() {
    do throws(Problem) {
      let content = try plan.open(file)
      try content.assertUnchanged()
      finish(with: .success(content))
    } catch {
      finish(with: .failure(.provided(error)))
    }
  }
}
