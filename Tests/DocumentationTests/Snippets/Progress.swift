import Foundation
import Properations
import TestSupport
import Testing

private func upload(_ file: URL) {}

@Suite("Progress of futures", .timeLimit(.minutes(5)), .oneAtATime)
struct ProgressSnippets {
  func copy(_ files: [URL]) -> Future<Int> {
    let promise = Promises.make(promising: Int.self)
    DispatchQueue.global().async {
      for (index, file) in files.enumerated() {
        upload(file)
        promise.report(completed: index + 1, of: files.count)
      }
      promise.succeed(with: files.count)
    }
    return promise
  }

  @Test("A bar follows a copy")
  func follow() async throws {
    struct Bar { var value = 0.0 }
    var bar = Bar()
    let future = copy((1...10).map { URL(fileURLWithPath: "/\($0)") })
    for await progress in future.progressUpdates {
      bar.value = progress.fractionCompleted
    }
    #expect(bar.value == 1)
    #expect(try await future.value == 10)
  }

  @Test("A future is a part of a larger progress")
  func part() {
    let future = Promise<Int>()
    let progress = Progress(totalUnitCount: 2)
    progress.becomeCurrent(withPendingUnitCount: 1)
    let part = future.makeProgress()
    progress.resignCurrent()
    future.report(completed: 1, of: 2)
    #expect(progress.fractionCompleted == 0.25)
    #expect(!part.isFinished)
    future.cancel()
  }
}
