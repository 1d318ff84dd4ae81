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
}
