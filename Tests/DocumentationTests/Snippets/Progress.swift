import Foundation
import Properations
import TestSupport
import Testing

private func upload(_ file: URL) {}

private struct Document: Sendable { var size: Int }

private func upload(_ file: Document) -> Future<Int> { Promises.makeSucceeded(with: file.size) }

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

  @Test("An async closure reports for its future")
  func asyncClosure() async throws {
    @Sendable func copy(_ file: URL) async throws {}
    let files = (1...10).map { URL(fileURLWithPath: "/\($0)") }
    let count = Promises.async {
      for (index, file) in files.enumerated() {
        try await copy(file)
        Promises.report(completed: index + 1, of: files.count)
      }
      return files.count
    }
    #expect(try await count.value == 10)
    #expect(count.currentProgress.total == 10)
  }

  @Test("A large part counts more than a small one")
  func weights() async {
    struct Bar { var value = 0.0 }
    var bar = Bar()
    let files = (1...3).map { Document(size: $0) }
    let parts = files.map { file in
      upload(file).withProgressWeight(Double(file.size))
    }
    for await progress in Promises.collect(parts).progressUpdates {
      bar.value = progress.fractionCompleted
    }
    #expect(bar.value == 1)
  }

  @Test("A promise tells what a Progress says")
  func following() {
    struct Download { let progress = Progress(totalUnitCount: 2) }
    let download = Download()
    download.progress.completedUnitCount = 1
    let promise = Promises.make(promising: Data.self)
    promise.report(from: download.progress, every: .milliseconds(200))
    #expect(promise.currentProgress.fractionCompleted == 0.5)
    promise.succeed(with: Data())
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
