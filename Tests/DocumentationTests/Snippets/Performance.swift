import Foundation
import Properations
import TestSupport
import Testing

@Suite("Performance", .timeLimit(.minutes(5)), .oneAtATime)
struct PerformanceSnippets {
  @Test("Many small files on one queue")
  func smallFiles() async throws {
    let folder = try TemporaryFolder("Performance")
    for name in ["a", "bb"] { try folder.write(name, to: name) }
    let paths = ["a", "bb"].map { folder.file($0).path }
    let queue = OperationQueue()
    let sizes = Promises.makeSucceeded(with: paths)
      .mapElementsToFuture(on: queue, maxConcurrent: 2) { path in
        Promises.makeSucceeded(with: try Data(contentsOf: URL(filePath: path)).count)
      }
    #expect(try await sizes.value == [1, 2])
  }
}
