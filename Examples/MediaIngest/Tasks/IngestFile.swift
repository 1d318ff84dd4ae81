import Properations

/// The result of a file.
enum Outcome: Sendable {
  case written(Sidecar)
  /// The sidecar of an earlier run is still right.
  case unchanged(Sidecar)
  case failed(Problem)
}

/// A task that ingests one file.
///
///   DescribeFile ─▶ retry ─▶ WriteSidecar
///
/// It is a group that cannot fail, because the other files continue in any case. To
/// verify a file, it describes the file and compares the result with the sidecar.
final class IngestFile: NonFailGroupProducerTask<Outcome>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let file: SourceFile
  private let plan: IngestPlan
  private let next: @Sendable () -> IngestFile?

  /// - Parameter next: Makes the task of the next file.
  init(_ file: SourceFile, _ plan: IngestPlan, next: @escaping @Sendable () -> IngestFile?) {
    self.file = file
    self.plan = plan
    self.next = next
    super.init(name: file.name, tasks: [])
  }

  override func execute() {
    if let next = next() { produce(new: next) }

    let place = SidecarPlace(of: file.name)
    let sidecar =
      plan.mode == .force ? nil : Sidecar(at: plan.output.root.appending(name: place.path))
    switch (plan.mode, sidecar) {
    case (.verify, nil):
      finish(with: .success(.failed(Problem(file.name, "has no sidecar that is whole"))))
    case (.verify, let sidecar?) where !sidecar.describes(file):
      finish(with: .success(.failed(Problem(file.name, "has changed since it was ingested"))))
    case (.verify, let sidecar?): verify(sidecar)
    case (_, let sidecar?) where sidecar.describes(file):
      finish(with: .success(.unchanged(sidecar)))
    default: write(to: place)
    }
    super.execute()
  }

  private func describe() -> ProducerTask<Sidecar, Problem> {
    let (file, plan) = (file, plan)
    return DescribeFile(file, plan).retry(plan.retries) { _ in DescribeFile(file, plan) }
  }

  private func verify(_ expected: Sidecar) {
    let file = file
    end(
      with: describe().map { found in
        found.sha256 == expected.sha256
          ? .unchanged(expected)
          : .failed(Problem(file.name, "has another content than when it was ingested"))
      })
  }

  private func write(to place: SidecarPlace) {
    let writing = WriteSidecar(to: place, plan, producing: describe())
    let folder = plan.output.folder(of: place)
    if !folder.isMade { writing.addConditions { FolderExists(folder) } }
    end(with: writing)
  }

  private func end(with outcome: ProducerTask<Outcome, Problem>) {
    addTask(
      outcome
        .replaceError { problem in .failed(problem) }
        .receive { [self] produced in finish(with: produced) })
  }
}
