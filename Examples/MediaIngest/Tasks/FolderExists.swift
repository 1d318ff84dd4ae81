import Properations

/// The condition that an output folder exists.
///
/// Its dependency is the task that makes the folder, so that task runs first.
struct FolderExists: TaskCondition {
  private let folder: OutputFolder

  init(_ folder: OutputFolder) { self.folder = folder }

  func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask? { folder.making }

  func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, Problem>) -> Void
  ) {
    completion(folder.problem.map { .failure($0) } ?? .success)
  }
}
