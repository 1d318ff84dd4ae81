import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// Counts the threads of the process, so nothing else may run.
@Suite("Threads that take in tasks", .timeLimit(.minutes(5)), .alone)
struct ThreadsOfAdoptionTests {
  #if os(Linux)
    @Test("1,000 tasks are put in a plain queue: few threads take them in")
    func fewThreadsAdopt() async throws {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      let before = try threadCount()
      let tasks = (0..<1_000).map { number in NonFailBlockProducerTask<Int> { _ in number } }
      for task in tasks { queue.addOperation(task) }
      let after = try threadCount()
      for task in tasks { #expect(await task.outcome() == .success) }
      #expect(after - before < 128)
    }

    private func threadCount() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    }
  #endif
}
