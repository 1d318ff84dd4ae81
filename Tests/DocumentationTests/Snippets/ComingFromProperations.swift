import Foundation
import Properations
import TestSupport
import Testing

@MainActor
private final class PictureView {
  let shown = Promises.make(promising: Picture.self)

  var picture = Picture.placeholder {
    didSet { shown.succeed(with: picture) }
  }
}

private enum After {
  final class Commands: Sendable {
    private let queue = OperationQueue()

    init() { queue.maxConcurrentOperationCount = 1 }

    #if os(Linux) || os(macOS)
      func run(_ process: Process) -> Future<Int32> { process.runAsFuture(in: queue) }
    #endif
  }
}

@Suite("Coming from Properations", .timeLimit(.minutes(5)), .oneAtATime)
struct ComingFromProperationsSnippets {
  #if os(Linux) || os(macOS)
    @Test("Commands run one at a time")
    func commands() async throws {
      let commands = After.Commands()
      let codes = Promises.collect(
        ["true", "false"].map { name in
          let process = Process()
          process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
          process.arguments = [name]
          return commands.run(process)
        })
      #expect(try await codes.value == [0, 1])
    }
  #endif

  @Test("A picture is loaded, scaled on a queue and shown on the main queue")
  @MainActor
  func picture() async throws {
    let scaling = OperationQueue()
    let view = PictureView()

    @MainActor
    func update(_ view: PictureView, from url: URL) {
      Promises.wrap { handler in server.load(url, then: handler) }
        .compactMapToValue(on: scaling) { data in Picture(data) }
        .recover { _ in .placeholder }
        .onSuccess { picture in view.picture = picture }
    }

    update(view, from: url)
    #expect(try await view.shown.value == Picture(width: 1100))
  }
}
