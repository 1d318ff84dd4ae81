import Foundation
import Properations
import TestSupport
import Testing

@Suite("README", .timeLimit(.minutes(5)), .oneAtATime)
struct READMESnippets {
  /// Not run here, for it prints; `.ci/run` runs it in a package of its own.
  @MainActor
  func firstProgram() async throws {
    /// How many lines of text a file has, not counting empty ones.
    func countLines(of file: URL) -> Future<Int> {
      Promises.run(on: .global()) { try String(contentsOf: file, encoding: .utf8) }
        .mapToValue(on: .global()) { text in text.split(whereSeparator: \.isNewline).count }
        .recover(on: .inline) { _ in 0 }  // A folder, or not text.
    }

    let folder = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)

    let report = Promises.makeSucceeded(with: files)
      .mapElementsToFuture(maxConcurrent: 8) { file in countLines(of: file) }
      .mapToValue { counts in "\(counts.reduce(0, +)) lines in \(counts.count) files" }
      .timeout(after: .seconds(10))

    print(try await report.value)
  }

  /// Not run here, for it prints; `.ci/run` runs it in a package of its own.
  @MainActor
  func workflowProgram() async throws {
    let workflow = Workflow(name: "Report")

    let author = try workflow.add("author") { "Ada" }
    let pages = try workflow.add("pages", after: author) { author in [12, 7, 30] }
    // Waits for a person, or for whatever else happens outside.
    let approval = try workflow.add(
      ExternalConditionTask<String>(name: "approval", waitsForFulfillment: true))
    let report = try workflow.add("report", after: author, pages, approval) { author, pages, name in
      // A String, an [Int] and a String: no casts, no optionals.
      "\(pages.reduce(0, +)) pages by \(author), approved by \(name)"
    }

    let outcome = workflow.start()
    approval.fulfill(with: "Grace")
    print(try await outcome.value, "-", report.result ?? "no report")
  }

  @Test("Where closures run")
  func whereClosuresRun() async {
    let shown = Promises.make(promising: Picture.self)
    @MainActor func show(_ picture: Picture) { shown.succeed(with: picture) }

    let pictures = OperationQueue()
    pictures.maxConcurrentOperationCount = 2

    download(url)
      .compactMapToValue(on: pictures) { data in Picture(data) }  // On the queue,
      .mapToValue(on: pictures) { picture in picture.scaled(to: 64) }  // in the same batch.
      .recover { _ in .placeholder }  // On the main queue,
      .onSuccess { picture in show(picture) }  // in the same batch if it recovered.

    await #expect(shown.completion.successValue == Picture(width: 64))
  }

  @Test("A future as a dependency")
  func dependency() async throws {
    let removals = Promises.make(promising: Void.self)
    @Sendable func removeTemporaryFiles() { removals.succeed() }

    // On a thread of its own, for it waits.
    let done = Promises.make(promising: Void.self)
    Thread.detachNewThread {
      let queue = OperationQueue()
      let upload = Promises.make(promising: Int.self, in: queue)

      let cleanUp = BlockOperation { removeTemporaryFiles() }
      cleanUp.addDependency(upload)
      queue.addOperation(cleanUp)

      upload.succeed(with: 200)
      queue.waitUntilAllOperationsAreFinished()

      done.succeed()
    }

    try await done.value
    #expect(removals.isFulfilled)
  }

  @Test("A job that occupies its queue")
  func blocking() async throws {
    @Sendable func requestGreeting(_ handler: @escaping @Sendable (String) -> Void) {
      DispatchQueue.global().async { handler("Hello") }
    }

    let serial = OperationQueue()
    serial.maxConcurrentOperationCount = 1

    let greeting = Promises.makeBlocking(in: serial, promising: String.self) { promise in
      requestGreeting { text in promise.succeed(with: text) }
    }

    #expect(try await greeting.value == "Hello")
  }

  @Test("An operation's future")
  func operationFuture() async throws {
    let shown = Promises.make(promising: Void.self)
    @MainActor func showIndex() { shown.succeed() }
    let queue = queue(slots: 1)

    let index = BlockOperation { rebuildIndex() }
    index.future.onSuccess { showIndex() }
    queue.addOperation(index)

    try await shown.value
    #expect(index.isFinished)
  }
}
