import Foundation
import Properations

// What the snippets of all documents talk about: a server, pictures, a screen.
// None of it prints, and none of it needs a network.

let url = URL(fileURLWithPath: "/lighthouse")
let other = URL(fileURLWithPath: "/harbour")
let urls = [url, other]
let indexURL = url

enum ServerError: Error { case noData }

/// Something that can be stopped.
final class Transfer: Sendable {
  func stop() {}
}

/// Answers with the path of what it is asked for, on some thread.
struct Server: Sendable {
  @discardableResult
  func load(_ url: URL, then handler: @escaping @Sendable (Data?, (any Error)?) -> Void) -> Transfer
  {
    DispatchQueue.global().async { handler(Data(url.path.utf8), nil) }
    return Transfer()
  }

  func store(_ data: Data, then handler: @escaping @Sendable ((any Error)?) -> Void) {
    DispatchQueue.global().async { handler(nil) }
  }
}

let server = Server()

struct Picture: Sendable, Equatable {
  var width: Int

  static let placeholder = Picture(width: 0)

  init(width: Int) { self.width = width }

  init?(_ data: Data) {
    guard !data.isEmpty else { return nil }
    width = data.count * 100
  }

  func scaled(to width: Int) -> Picture { Picture(width: width) }
}

func download(_ url: URL) -> Future<Data> {
  Promises.run(on: .global()) { Data(url.path.utf8) }
}

func fetch(_ url: URL) -> Future<Data> { download(url) }

func search(_ words: String) -> Future<URL> {
  Promises.makeSucceeded(with: URL(fileURLWithPath: "/\(words)"))
}

struct Profile: Sendable, Codable {}
struct Album: Sendable {}

@MainActor func show(_ picture: Picture) {}
@MainActor func show(_ data: Data) {}
@MainActor func show(_ data: Data, _ url: URL) {}
@MainActor func show(_ profile: Profile, _ albums: [Album]) {}
@MainActor func show(_ error: any Error) {}
@MainActor func showSaved() {}
@MainActor func showIndex() {}

@Sendable func removeTemporaryFiles() {}
@Sendable func rebuildIndex() {}
@Sendable func closeFiles() {}
@Sendable func countWords() throws -> Int { 3 }

/// Runs a body with a queue of its own.
func queue(slots: Int) -> OperationQueue {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = slots
  return queue
}
