import Properations

/// What has become of a file.
enum Outcome: Sendable {
  case written(Sidecar)
  /// An earlier run has written it.
  case unchanged(Sidecar)
  case failed(Problem)
}

/// A task that writes down what one file is: a group that cannot fail, for the
/// other files go on in any case.
///
///   DescribeFile ─▶ retry ─▶ encode ─▶ mapError ─▶ WriteSidecar ─┐
///                     └───────────────────────────────────────▶ zip ─▶ map
///                                                          ─▶ replaceError
final class IngestFile: NonFailGroupProducerTask<Outcome>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let file: SourceFile
  private let plan: IngestPlan
  private let next: @Sendable () -> IngestFile?

  /// - Parameter next: Makes the task of another file.
  init(_ file: SourceFile, _ plan: IngestPlan, next: @escaping @Sendable () -> IngestFile?) {
    self.file = file
    self.plan = plan
    self.next = next
    super.init(name: file.name, tasks: [])
  }

  override func execute() {
    if let next = next() { produce(new: next) }

    let folder = plan.output.folder(of: file)
    let name = "\(file.name.split(separator: "/").last ?? "").json"
    if let sidecar = Sidecar(at: folder.path.appending(name: name)), sidecar.describes(file) {
      finish(with: .success(.unchanged(sidecar)))
    } else {
      addMembers(writingTo: name, in: folder)
    }
    super.execute()
  }

  private func addMembers(writingTo name: String, in folder: OutputFolder) {
    let (file, plan) = (file, plan)

    let sidecar = DescribeFile(file, plan)
      .retry(plan.retries) { _ in DescribeFile(file, plan) }

    let text =
      sidecar
      .encode(encoder: Sidecar.encoder)
      .mapError { Problem(file.name, $0) }

    let writing = WriteSidecar(to: name, in: folder, producing: text)
      .addConditions {
        FolderExists(folder)
        Conditions.MutuallyExclusive(OutputFolder.self, key: folder.path)
      }

    let outcome = sidecar.zip(writing)
      .map { sidecar, _ in Outcome.written(sidecar) }
      .replaceError { problem in .failed(problem) }
      .receive { [self] produced in finish(with: produced) }

    addTask(text)
    addTask(writing)
    addTask(outcome)
  }
}
