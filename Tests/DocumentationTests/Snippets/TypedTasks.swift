import Foundation
import Properations
import TestSupport
import Testing

// (In a namespace, because the snippets of comments have types of these names.)
enum TypedTasksArticle {
  /// Counts the lines of one file.
  final class CountLines: ProducerTask<Int, CocoaError>, @unchecked Sendable {
    private let file: URL

    init(of file: URL) {
      self.file = file
      super.init(qos: .utility)
    }

    override func execute() {
      guard let text = try? String(contentsOf: file, encoding: .utf8) else {
        return finish(with: .failure(.provided(CocoaError(.fileReadUnknown))))
      }
      finish(with: .success(text.split(separator: "\n").count))
    }
  }

  struct FileExists: TaskCondition {
    let file: URL

    func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, CocoaError>) -> Void
    ) {
      let exists = FileManager.default.fileExists(atPath: file.path)
      completion(exists ? .success : .failure(CocoaError(.fileNoSuchFile)))
    }
  }

  @Suite("The article of the module TypedTasks", .timeLimit(.minutes(5)), .oneAtATime)
  struct TypedTasksSnippets {
    @Test("A subclass, a condition, a timeout, a retry and a chain")
    func chain() async throws {
      @Sendable func file(_ name: String) -> URL { Documents.root.appendingPathComponent(name) }
      let received = Event()
      @Sendable func print<T>(_ result: T) { received.signal() }

      let queue = TaskQueue(maxConcurrentTaskCount: 4)

      let readme = CountLines(of: file("README.md"))
        .addCondition(FileExists(file: file("README.md")))
        .addObserver(Observers.Timeout(.seconds(5)))

      let licence = CountLines(of: file("LICENSE"))
        .retry(attempts: 3, delay: .exponential(.milliseconds(100))) { _ in
          CountLines(of: file("LICENSE"))
        }

      let total = readme.zip(licence)
        .map { readme, licence in readme + licence }
        .receive { result in print(result) }  // A value, or an error.

      queue.addTask(total)  // And with it the tasks upstream.
      let lines = try await total.value

      #expect(await received.opened())
      #expect(lines > 100)
    }
  }
}
