import Foundation
import NIOHTTP1
import Properations

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

  /// Answers a request.
  ///
  /// - Parameter port: The port on which the request has come.
  func answer(_ request: Request, on port: Int) async -> Response {
    do {
      try `guard`.check(request, on: port)
      let response = try await route(request)
      return response
    } catch let error as RequestError {
      return Response(error)
    } catch {
      let message = "The dashboard has failed: \(error.shownMessage)"
      return Response(RequestError(.internalServerError, message))
    }
  }

  private func route(_ request: Request) async throws -> Response {
    if let file = files[request.path] {
      try require(.GET, request)
      return Response(type: file.type, file.data)
    }
    let path = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      .map { $0.removingPercentEncoding ?? "" }
    guard request.path.hasPrefix("/"), path.starts(with: ["api", "workflows"]) else {
      throw RequestError(.notFound, "There is nothing at this address.")
    }
    if path.count == 2 {
      if request.method == .POST { return try await make(request) }
      try require(.GET, request, or: .POST)
      return Response(json: await list())
    }
    guard let shown = registry[path[2]] else {
      throw RequestError(.notFound, "There is no workflow of this name.")
    }
    switch (path.count, path.dropFirst(3).first) {
    case (3, nil):
      if request.method == .POST { return try await control(shown, request) }
      try require(.GET, request, or: .POST)
      return Response(json: await shown.feed.picture())
    case (4, "events"):
      try require(.GET, request)
      return try await events(shown, request)
    case (4, "layout"):
      try require(.GET, request)
      let folded = Set(request.query("folded").split(separator: ",").map(String.init))
      return Response(
        json: try await shown.layouts.layout(of: shown.feed.picture(), folded: folded))
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
    _ method: HTTPMethod, _ request: Request, or other: HTTPMethod? = nil
  ) throws(RequestError) {
    guard request.method == method else {
      let allowed = [method, other].compactMap { $0?.rawValue }.joined(separator: " or ")
      throw RequestError(.methodNotAllowed, "This address takes \(allowed).")
    }
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

  private func events(_ shown: ShownWorkflow, _ request: Request) async throws -> Response {
    // A browser that connects again sends the last event that it has seen.
    let last = request[header: "Last-Event-ID"] ?? request.query("after")
    guard let news = await shown.feed.subscribe() else {
      throw RequestError(.tooManyRequests, "Too many pages are open.")
    }
    return Response(EventStream(feed: shown.feed, news: news, last: EventID(last)))
  }

  private struct Making: Decodable { let offer, argument: String }
  private struct Made: Encodable { let id: String }

  private func make(_ request: Request) async throws -> Response {
    let making: Making = try change(request)
    let (id, isNew) = try registry.make(making.offer, argument: making.argument)
    return Response(isNew ? .created : .ok, json: Made(id: id))
  }

  private struct RunChange: Decodable { let action: RunAction }
  private struct TaskChange: Decodable {
    let action: TaskAction
    let value: String?
  }
  private struct Done: Encodable { let version: Int }

  private func control(
    _ shown: ShownWorkflow, _ request: Request
  ) async throws -> Response {
    let change: RunChange = try change(request)
    try await shown.control.perform(change.action)
    return try await done(shown)
  }

  private func control(
    _ shown: ShownWorkflow, _ task: AnyWorkflowTask, _ request: Request
  ) async throws -> Response {
    let change: TaskChange = try change(request)
    try await shown.control.perform(change.action, on: task, text: change.value)
    return try await done(shown)
  }

  private func done(_ shown: ShownWorkflow) async throws -> Response {
    await shown.feed.refresh()
    return Response(json: Done(version: await shown.feed.position.version))
  }

  // MARK: Bodies

  /// Reads what a request wants to change.
  private func change<Change: Decodable>(_ request: Request) throws -> Change {
    try `guard`.checkChange(request)
    do { return try JSONDecoder().decode(Change.self, from: request.body) } catch {
      throw RequestError(.badRequest, "The request is not written as this address needs it.")
    }
  }
}
