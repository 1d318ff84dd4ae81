import Foundation

/// The server-sent events for a page.
///
/// Each text is one event, or a comment that shows whether the page still listens.
struct EventStream: Sendable {
  /// The time between two events: at most twenty a second for each page.
  private static let pause = Duration.milliseconds(50)

  private let feed: WorkflowFeed
  private let news: AsyncStream<Void>
  private var last: EventID?
  private var isFirst = true

  /// - Parameters:
  ///   - news: A subscription of the feed. The stream ends with it.
  ///   - last: What the page knows already; `nil` if it knows nothing.
  init(feed: WorkflowFeed, news: AsyncStream<Void>, last: EventID?) {
    (self.feed, self.news, self.last) = (feed, news, last)
  }

  /// Waits for the next event; `nil` after the last one.
  mutating func next() async throws -> String? {
    if !isFirst {
      try await Task.sleep(for: Self.pause)
      guard await news.first(where: { true }) != nil else { return nil }
    }
    isFirst = false
    let position = await feed.position
    let isKnown = last?.epoch == position.epoch && last?.graph == position.graph
    let after = isKnown ? last?.version : nil
    let picture = await feed.picture(after: after)
    if let after, after == picture.version { return ": still here\n\n" }
    let id = EventID(epoch: picture.epoch, graph: picture.graph, version: picture.version)
    last = id
    // A graph that has changed meanwhile is told as a whole the next time.
    let name = picture.isWhole ? "picture" : "change"
    let data = String(decoding: try JSONEncoder().encode(picture), as: UTF8.self)
    return "event: \(name)\nid: \(id.text)\nretry: 1000\ndata: \(data)\n\n"
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
