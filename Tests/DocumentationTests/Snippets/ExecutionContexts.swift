import Foundation
import Properations
import TestSupport
import Testing

@MainActor
final class Gallery {
  var pictures: [Picture] = []

  func add(_ picture: Future<Picture>) {
    picture.onSuccess { self.pictures.append($0) }
  }
}

struct Paced: ExecutionContext {
  let queue: DispatchQueue
  let pause: DispatchTimeInterval

  func execute(_ operation: Operation) {
    queue.asyncAfter(deadline: .now() + pause) { operation.start() }
  }
}

actor Archive {
  var rows: [Int] = []
}

actor Ledger {
  private let executor: QueueSerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }
  private(set) var total = 0

  init(on queue: OperationQueue) { executor = queue.serialExecutor }

  func add(_ amount: Int) { total += amount }
}

enum Tracing {
  @TaskLocal static var span = "none"
}

@Suite("Execution contexts", .timeLimit(.minutes(5)), .oneAtATime)
struct ExecutionContextsSnippets {
  @Test("The default is the main actor")
  @MainActor
  func mainActor() async throws {
    let gallery = Gallery()
    let picture = Promises.make(promising: Picture.self)
    gallery.add(picture)
    picture.succeed(with: .placeholder)
    // Attached later to the same future, so it runs later on the same queue.
    let count = picture.mapToValue { _ in gallery.pictures.count }
    #expect(try await count.value == 1)
  }

  @Test("A queue of one's own, and turns on it")
  func turns() async throws {
    let picture = Promises.makeSucceeded(with: Picture(width: 1000))
    let scaling = OperationQueue()
    let thumbnail = picture.mapToValue(on: scaling) { $0.scaled(to: 64) }
    #expect(try await thumbnail.value.width == 64)

    let numbers = Promises.makeSucceeded(with: [3, 1, 2])
    let labels =
      numbers
      .mapToValue(on: scaling) { $0.sorted() }
      .mapToValue(on: scaling) { $0.map(String.init) }
      .mapToValue(on: scaling) { $0.joined(separator: ", ") }
    #expect(try await labels.value == "1, 2, 3")
  }

  @Test("A context of one's own")
  func ownContext() async throws {
    let paced = Paced(queue: .global(), pause: .milliseconds(1))
    #expect(try await Promises.run(on: paced) { 1 }.value == 1)
  }

  @Test("Batches in a chain with several contexts")
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

  @Test("An actor as a context, a queue as an executor")
  func executors() async throws {
    let archive = Archive()
    let row = Promises.makeSucceeded(with: 7)
    let count = row.mapToValue(on: archive) { archive, row in
      archive.rows.append(row)
      return archive.rows.count
    }
    #expect(try await count.value == 1)

    let paths = [URL(fileURLWithPath: #filePath)]
    let disk = OperationQueue()
    disk.maxConcurrentOperationCount = 2
    let sizes = Task(executorPreference: disk.taskExecutor) {
      try paths.map { try Data(contentsOf: $0).count }
    }
    #expect(try await sizes.value.allSatisfy { $0 > 0 })

    let ledger = Ledger(on: disk)
    await ledger.add(7)
    #expect(await ledger.total == 7)
  }

  @Test("Task-locals that travel")
  func taskLocals() async throws {
    let user = Promises.makeSucceeded(with: "Ada")
    let queue = OperationQueue()
    Promises.carry(Tracing.$span)

    let name = Tracing.$span.withValue("request 7") {
      user.mapToValue(on: queue) { user in "\(user) of \(Tracing.span)" }
    }
    #expect(try await name.value == "Ada of request 7")
  }
}
