import Foundation
import Properations
import TestSupport
import Testing

@MainActor
private final class Spinner {
  let stopped = Promises.make(promising: Void.self)
  private var isRunning = false

  func start() { isRunning = true }
  func stop() { if isRunning { stopped.succeed() } }
}

private func loadPicture(_ name: String) -> Future<Picture> {
  func loadPicture(_ name: String) -> Future<Picture> {
    search(name)
      .mapToFuture { url in Promises.wrap { handler in server.load(url, then: handler) } }
      .compactMapToValue(on: .global()) { data in Picture(data) }
  }

  return loadPicture(name)
}

@Suite("Coming from PromiseKit", .timeLimit(.minutes(5)), .oneAtATime)
struct ComingFromPromiseKitSnippets {
  @Test("Two pictures are shown, and the spinner stops")
  @MainActor
  func twoPictures() async throws {
    let spinner = Spinner()
    let shown = Promises.make(promising: [Picture].self)
    func show(_ left: Picture, _ right: Picture) { shown.succeed(with: [left, right]) }
    func show(_ error: any Error) { shown.fail(with: error) }

    spinner.start()
    Promises.combine(loadPicture("lighthouse"), loadPicture("harbour"))
      .onSuccess { left, right in show(left, right) }
      .always { spinner.stop() }
      .onFailure { error in show(error) }

    #expect(try await shown.value == [Picture(width: 1100), Picture(width: 800)])
    try await spinner.stopped.value
  }
}
