import FlyingFox
import Foundation
import Properations
import Synchronization

/// Hands requests to the routes, which are made when the port is known.
final class Door: HTTPHandler {
  private let routes = Mutex<Routes?>(nil)

  func open(_ routes: Routes) { self.routes.withLock { $0 = routes } }

  func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard let routes = routes.withLock({ $0 }) else {
      return HTTPResponse(statusCode: .serviceUnavailable)
    }
    return await routes.answer(request)
  }
}

/// The addresses of the dashboard.
///
///     GET  /                                      the page, and its files
///     GET  /api/workflows                         what is shown and offered
///     POST /api/workflows                         { "offer": …, "argument": … }
///     GET  /api/workflows/ID                      a picture
///     GET  /api/workflows/ID/events?after=POSITION  pictures of changes, as they happen
///     GET  /api/workflows/ID/layout?folded=1,2    places for a drawing
///     POST /api/workflows/ID                      { "action": … }
///     POST /api/workflows/ID/tasks/TASK           { "action": …, "value": … }
struct Routes: Sendable {
  let registry: Registry
  let files: PageFiles
  let `guard`: Guard

  func answer(_ request: HTTPRequest) async -> HTTPResponse {
    do {
      try `guard`.check(request)
      let response = try await route(request)
      return response
    } catch let error as RequestError {
      return refusal(error, of: request)
    } catch {
      return Self.json(
        ErrorAnswer(error: "The dashboard has failed: \(error.text)"),
        HTTPStatusCode(500, phrase: "Internal Server Error"))
    }
  }

  private func route(_ request: HTTPRequest) async throws -> HTTPResponse {
    // The path as it was sent: the server's own reading decodes it and drops slashes.
    let target = request.target.path()
    if let file = files[target] {
      try require(.GET, request)
      return Self.response(.ok, type: file.type, file.data)
    }
    let path = target.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      .map { $0.removingPercentEncoding ?? "" }
    guard target.hasPrefix("/"), path.count >= 2, path[0] == "api", path[1] == "workflows" else {
      throw RequestError(.notFound, "There is nothing at this address.")
    }
    if path.count == 2 {
      if request.method == .POST { return try await make(request) }
      try require(.GET, request, or: .POST)
      return Self.json(await list())
    }
    guard let shown = registry[path[2]] else {
      throw RequestError(.notFound, "There is no workflow of this name.")
    }
    switch (path.count, path.dropFirst(3).first) {
    case (3, nil):
      if request.method == .POST { return try await control(shown, request) }
      try require(.GET, request, or: .POST)
      return Self.json(await shown.feed.picture())
    case (4, "events"):
      try require(.GET, request)
      return try await events(shown, request)
    case (4, "layout"):
      try require(.GET, request)
      let folded = Set(query("folded", request).split(separator: ",").map(String.init))
      return Self.json(try await shown.layouts.layout(of: shown.feed.picture(), folded: folded))
    case (5, "tasks"):
      guard let task = await shown.feed.task(path[4]) else {
        throw RequestError(.notFound, "There is no task with this number.")
      }
      try require(.POST, request)
      return try await control(shown, task, request)
    default: throw RequestError(.notFound, "There is nothing at this address.")
    }
  }

  private func require(
    _ method: HTTPMethod, _ request: HTTPRequest, or other: HTTPMethod? = nil
  ) throws(RequestError) {
    guard request.method == method else {
      let allowed = [method, other].compactMap { $0?.rawValue }.joined(separator: " or ")
      throw RequestError(.methodNotAllowed, "This address takes \(allowed).")
    }
  }

  private func query(_ name: String, _ request: HTTPRequest) -> String {
    request.query.first { $0.name == name }?.value ?? ""
  }

  // MARK: Answers

  private struct List: Encodable {
    struct Offer: Encodable { let id, title, example: String }

    let workflows: [WorkflowSummary]
    let offers: [Offer]
  }

  private func list() async -> List {
    var summaries: [WorkflowSummary] = []
    for shown in registry.all { summaries.append(await shown.feed.summary) }
    return List(
      workflows: summaries,
      offers: registry.offers.map { List.Offer(id: $0.id, title: $0.title, example: $0.example) })
  }

  private func events(_ shown: ShownWorkflow, _ request: HTTPRequest) async throws -> HTTPResponse {
    // A browser that connects again sends the last event that it has seen.
    let last = request.headers[HTTPHeader("Last-Event-ID")] ?? query("after", request)
    guard let news = await shown.feed.subscribe() else {
      throw RequestError(.tooManyRequests, "Too many pages are open.")
    }
    let body = EventBody(feed: shown.feed, news: news, last: EventID(last))
    var response = HTTPResponse(
      statusCode: .ok, headers: Self.headers(type: "text/event-stream"),
      body: HTTPBodySequence(from: body))
    response.headers[HTTPHeader("X-Accel-Buffering")] = "no"
    return response
  }

  private struct Making: Decodable { let offer, argument: String }
  private struct Made: Encodable { let id: String }

  private func make(_ request: HTTPRequest) async throws -> HTTPResponse {
    let making: Making = try await change(request)
    let (id, isNew) = try registry.make(making.offer, argument: making.argument)
    return Self.json(Made(id: id), isNew ? HTTPStatusCode(201, phrase: "Created") : .ok)
  }

  private struct RunChange: Decodable { let action: RunAction }
  private struct TaskChange: Decodable {
    let action: TaskAction
    let value: String?
  }
  private struct Done: Encodable { let version: Int }

  private func control(
    _ shown: ShownWorkflow, _ request: HTTPRequest
  ) async throws -> HTTPResponse {
    let change: RunChange = try await change(request)
    try await shown.control.perform(change.action)
    return try await done(shown)
  }

  private func control(
    _ shown: ShownWorkflow, _ task: AnyWorkflowTask, _ request: HTTPRequest
  ) async throws -> HTTPResponse {
    let change: TaskChange = try await change(request)
    try await shown.control.perform(change.action, on: task, text: change.value)
    return try await done(shown)
  }

  private func done(_ shown: ShownWorkflow) async throws -> HTTPResponse {
    await shown.feed.refresh()
    return Self.json(Done(version: await shown.feed.position.version))
  }

  // MARK: Bodies

  /// Reads what a request wants to change.
  private func change<Change: Decodable>(_ request: HTTPRequest) async throws -> Change {
    try `guard`.checkChange(request)
    let body = try await body(of: request)
    do { return try JSONDecoder().decode(Change.self, from: body) } catch {
      throw RequestError(.badRequest, "The request is not written as this address needs it.")
    }
  }

  /// Reads the body of a request, of which the length need not be known before.
  private func body(of request: HTTPRequest) async throws -> Data {
    let tooLarge = RequestError(
      .contentTooLarge, "A request may have \(Guard.largestBody) bytes at most.")
    if let count = request.bodySequence.count, count > Guard.largestBody { throw tooLarge }
    var data = Data()
    for try await part in request.bodySequence {
      data += part
      if data.count > Guard.largestBody { throw tooLarge }
    }
    return data
  }

  private struct ErrorAnswer: Encodable { let error: String }

  private func refusal(_ error: RequestError, of request: HTTPRequest) -> HTTPResponse {
    let status = HTTPStatusCode(error.status.rawValue, phrase: error.status.phrase)
    let answer = ErrorAnswer(error: error.message)
    guard request.method != .GET, request.bodySequence.count != 0 else {
      return Self.json(answer, status)
    }
    // The body may not have been read.
    let data = Self.encoded(answer)
    var headers = Self.headers(type: "application/json")
    headers[.connection] = "close"
    return HTTPResponse(
      statusCode: status, headers: headers,
      body: HTTPBodySequence(from: LastBody(data: data), count: data.count))
  }

  private static func encoded(_ value: some Encodable) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Values of the dashboard can always be encoded: progress is never infinite.
    return (try? encoder.encode(value)) ?? Data("{}".utf8)
  }

  private static func json(
    _ value: some Encodable, _ status: HTTPStatusCode = .ok
  ) -> HTTPResponse {
    response(status, type: "application/json", encoded(value))
  }

  private static func response(
    _ status: HTTPStatusCode, type: String, _ data: Data
  ) -> HTTPResponse {
    HTTPResponse(statusCode: status, headers: headers(type: type), body: data)
  }

  /// The headers of every answer: no script but the page's own files, no other site.
  private static func headers(type: String) -> HTTPHeaders {
    [
      .contentType: type,
      .cacheControl: "no-store",
      HTTPHeader("Content-Security-Policy"):
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      HTTPHeader("X-Content-Type-Options"): "nosniff",
      HTTPHeader("Referrer-Policy"): "no-referrer",
      HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
      HTTPHeader("Cross-Origin-Opener-Policy"): "same-origin",
    ]
  }
}
