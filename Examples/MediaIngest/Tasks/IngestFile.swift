import ExampleSupport
import Properations
import Synchronization

/// The result of a file.
enum Outcome: Sendable {
  /// The sidecar was written; it counts when it is published.
  case written(OutputTree.Unpublished)
  /// The sidecar of an earlier run is still right.
  case unchanged(Sidecar)
  case failed(Problem)
}

/// An attempt to ingest one file.
///
/// It looks at the sidecar of an earlier run, describes the file, and writes the sidecar.
/// To verify a file, it compares the description with the sidecar instead. This is one
/// task, because more tasks would take longer than reading a small file.
final class IngestFile: ProducerTask<Outcome, Problem>, @unchecked Sendable {
  // Sendable: the stage is atomic, and nothing else changes after init.

  /// How far `execute` is.
  ///
  ///   waits ──▶ executes ── returns ──────────────▶ hasReturned
  ///                │                                   ▲
  ///                └─ the task ends ──▶ hangs ── returns ─┘
  private enum Stage: UInt8, AtomicRepresentable {
    case waits
    case executes
    case hangs
    case hasReturned
  }

  private let stage = Atomic(Stage.waits)
  private let file: SourceFile
  private let plan: IngestPlan
  private let place: SidecarPlace
  private let folder: OutputFolder

  init(_ file: SourceFile, _ plan: IngestPlan) {
    self.file = file
    self.plan = plan
    place = SidecarPlace(of: file.name)
    folder = plan.output.folder(of: place)
    super.init(name: file.name)
    addObserver(Observers.Timeout(plan.timeLimit))
    if plan.mode != .verify, !folder.isMade { addConditions { FolderExists(folder) } }
  }

  override func execute() {
    stage.store(.executes, ordering: .relaxed)
    let result = Result { () throws(Problem) in try outcome() }
    if stage.exchange(.hasReturned, ordering: .relaxed) == .hangs { plan.hangingFiles.add(-1) }
    switch result {
    case .success(let outcome?): finish(with: .success(outcome))
    // The task was cancelled. It finishes as cancelled when `execute` returns.
    case .success(nil): break
    case .failure(let problem): finish(with: .failure(.provided(problem)))
    }
  }

  override func finished(with produced: Produced) {
    let isOverdue = stage.compareExchange(
      expected: .executes, desired: .hangs, ordering: .relaxed
    ).exchanged
    if isOverdue { plan.hangingFiles.add(1) }
  }

  private func outcome() throws(Problem) -> Outcome? {
    let hasNone = plan.mode == .force || folder.isNew
    let earlier =
      hasNone ? nil : Sidecar(at: plan.output.root.appending(name: place.path))
    if plan.mode == .verify {
      guard let earlier else { throw Problem(file.name, "has no sidecar that is whole") }
      guard earlier.describes(file) else {
        throw Problem(file.name, "has changed since it was ingested")
      }
      guard let found = try describe() else { return nil }
      guard found.sha256 == earlier.sha256 else {
        throw Problem(file.name, "has another content than when it was ingested")
      }
      return .unchanged(earlier)
    }
    if let earlier, earlier.describes(file) { return .unchanged(earlier) }
    guard let sidecar = try describe(), !isCancelled else { return nil }
    return .written(try plan.output.write(sidecar, for: place))
  }

  /// Finds out the type, the dimensions or duration, and the SHA-256.
  ///
  /// The first bytes tell the type, the headers the dimensions or duration. The whole file
  /// is read piece by piece for the digest.
  ///
  /// - Returns: `nil` if the task is cancelled meanwhile.
  private func describe() throws(Problem) -> Sidecar? {
    let content = try plan.open(file)
    try content.assertUnchanged()
    let size = Int(max(1, min(file.status.size, Self.pieceSize)))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    defer { buffer.deallocate() }
    var digest = SHA256()
    var type = MediaType.unknown
    var offset: Int64 = 0
    while !isCancelled {
      // A file that is longer than its size has changed.
      let isWhole = offset > 0 && offset == file.status.size
      let count = isWhole ? 0 : try content.read(at: offset, into: buffer)
      guard count > 0 else {
        let details = try MediaDetails(type) { (offset, count) throws(Problem) in
          try content.bytes(at: offset, count)
        }
        try content.assertUnchanged()
        return Sidecar(file, type, details, sha256: digest.finalize())
      }
      let piece = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
      if offset == 0 { type = MediaType(head: piece) }
      digest.update(piece)
      offset += Int64(count)
      plan.ledger.add(bytesRead: count)
    }
    return nil
  }

  private static let pieceSize: Int64 = 256 << 10
}
