import Foundation
import Properations
import WorkflowWeb

/// A page of the dashboard, as far as the server sees it.
struct Visitor: Sendable {
  let port: UInt16
  let token: String

  init(to dashboard: Dashboard) {
    port = UInt16(dashboard.url.port ?? 0)
    token = String((dashboard.url.fragment ?? "").dropFirst("token=".count))
  }

  var host: String { "127.0.0.1:\(port)" }

  func get(_ path: String, _ headers: [String: String] = [:]) async throws -> Conversation.Answer {
    try await Conversation(port: port).ask(request("GET", path, headers, body: nil))
  }

  func post(
    _ path: String, _ body: String, _ headers: [String: String] = [:]
  ) async throws -> Conversation.Answer {
    try await Conversation(port: port).ask(request("POST", path, headers, body: body))
  }

  /// Writes a request as a page sends it; the given headers replace those of the page.
  func request(
    _ method: String, _ path: String, _ headers: [String: String] = [:], body: String?
  ) -> String {
    var all = ["Host": host]
    if let body {
      all["Authorization"] = "Bearer \(token)"
      all["Content-Type"] = "application/json"
      all["Origin"] = "http://\(host)"
      all["Content-Length"] = "\(body.utf8.count)"
    }
    all.merge(headers) { $1 }
    let lines = all.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)" }.sorted()
    return ([("\(method) \(path) HTTP/1.1")] + lines).joined(separator: "\r\n") + "\r\n\r\n"
      + (body ?? "")
  }

  /// Gets the whole picture of a workflow.
  ///
  /// A busy machine may be later than the limit in time that a test has set. Like a browser, the
  /// visitor asks again then.
  func picture(of id: String) async throws -> WorkflowPicture {
    var attempt = 1
    while true {
      do {
        let answer = try await get("/api/workflows/\(id)")
        return try JSONDecoder().decode(WorkflowPicture.self, from: Data(answer.body.utf8))
      } catch is Conversation.Silence where attempt < 10 {
        attempt += 1
      }
    }
  }

  /// Opens a stream of events and hears until it has said something.
  ///
  /// - Returns: The pictures of all complete events so far, and the identifier of the last.
  func events(
    of id: String, after last: String = "",
    until isEnough: @escaping @Sendable ([WorkflowPicture]) -> Bool
  ) async throws -> (pictures: [WorkflowPicture], last: String) {
    let conversation = try Conversation(port: port)
    try await conversation.say(
      request("GET", "/api/workflows/\(id)/events", ["Last-Event-ID": last], body: nil))
    let text = try await conversation.hear { isEnough(Self.pictures(in: $0)) }
    let ids = Self.lines(of: text).filter { $0.hasPrefix("id: ") }
    return (Self.pictures(in: text), String((ids.last ?? "").dropFirst(4)))
  }

  private static func lines(of text: String) -> [String] {
    // Whole events only.
    guard let end = text.range(of: "\n\n", options: .backwards) else { return [] }
    return text[..<end.lowerBound].split(whereSeparator: \.isNewline).map(String.init)
  }

  private static func pictures(in text: String) -> [WorkflowPicture] {
    lines(of: text).filter { $0.hasPrefix("data: ") }.compactMap {
      try? JSONDecoder().decode(WorkflowPicture.self, from: Data($0.utf8.dropFirst(6)))
    }
  }
}

extension WorkflowPicture {
  /// The states of the tasks by name.
  var states: [String: String] {
    Dictionary(tasks.map { ($0.name, $0.state) }) { first, _ in first }
  }
}

/// Starts a dashboard for a test, and stops it afterwards.
func withDashboard(
  showing workflow: Workflow? = nil, idleLimit: Duration = .seconds(60),
  _ body: (Dashboard, Visitor) async throws -> Void
) async throws {
  let dashboard = try await Dashboard(showing: workflow, idleLimit: idleLimit)
  do {
    try await body(dashboard, Visitor(to: dashboard))
    await dashboard.stop()
  } catch {
    await dashboard.stop()
    throw error
  }
}
