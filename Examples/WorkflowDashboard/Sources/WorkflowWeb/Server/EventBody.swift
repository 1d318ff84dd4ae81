import FlyingFox
import FlyingSocks
import Foundation

/// The endless body of an answer of server-sent events.
///
/// Each buffer is one event, or a comment that shows whether the page still listens.
struct EventBody: AsyncBufferedSequence {
  typealias Element = UInt8

  /// The time between two events: at most twenty a second for each page.
  static let pause = Duration.milliseconds(50)

  let feed: WorkflowFeed
  let news: AsyncStream<Void>
  /// What the page knows already; `nil` if it knows nothing.
  let last: EventID?

  func makeAsyncIterator() -> Iterator {
    Iterator(feed: feed, news: news.makeAsyncIterator(), last: last)
  }

  struct Iterator: AsyncBufferedIteratorProtocol {
    fileprivate let feed: WorkflowFeed
    fileprivate var news: AsyncStream<Void>.Iterator
    fileprivate var last: EventID?
    fileprivate var isFirst = true

    fileprivate init(feed: WorkflowFeed, news: AsyncStream<Void>.Iterator, last: EventID?) {
      (self.feed, self.news, self.last) = (feed, news, last)
    }

    /// Only buffers are read.
    mutating func next() async throws -> UInt8? { nil }

    mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
      if !isFirst {
        try await Task.sleep(for: EventBody.pause)
        guard await news.next() != nil else { return nil }
      }
      defer { isFirst = false }
      let position = await feed.position
      let isKnown = last?.epoch == position.epoch && last?.graph == position.graph
      let after = isKnown ? last?.version : nil
      let picture = await feed.picture(after: after)
      if let after, after == picture.version { return Array(": still here\n\n".utf8) }
      let id = EventID(epoch: picture.epoch, graph: picture.graph, version: picture.version)
      last = id
      // A graph that has changed meanwhile is told as a whole the next time.
      let name = picture.isWhole ? "picture" : "change"
      let data = try JSONEncoder().encode(picture)
      return Array("event: \(name)\nid: \(id.text)\nretry: 1000\ndata: ".utf8) + data
        + Array("\n\n".utf8)
    }
  }
}

/// The position of a page in the history of a workflow, as the `id` of an event.
struct EventID: Equatable {
  let epoch: String
  let graph: Int
  let version: Int

  var text: String { "\(epoch)-\(graph)-\(version)" }

  init(epoch: String, graph: Int, version: Int) {
    (self.epoch, self.graph, self.version) = (epoch, graph, version)
  }

  /// Reads an identifier; `nil` if the text is none, so that the page gets a whole picture.
  init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let graph = Int(parts[1]), let version = Int(parts[2]), version >= 0
    else { return nil }
    self.init(epoch: String(parts[0]), graph: graph, version: version)
  }
}
