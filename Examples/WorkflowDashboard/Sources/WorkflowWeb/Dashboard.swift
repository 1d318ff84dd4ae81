import ExampleSupport
import Foundation
import Properations

/// A page on this machine on which one sees workflows live, and controls them.
///
/// Two lines show a workflow of an application:
///
/// ```swift
/// let dashboard = try await Dashboard(showing: workflow)
/// print(dashboard.url)
/// ```
///
/// The page shows the graph with the states of the tasks, a timeline and the critical path.
/// Its buttons start, pause, cancel, retry and reset, and fulfill conditions. Several pages
/// may be open at once; a page that was away catches up.
///
/// ## Who can see and do what
///
/// The server listens on the loopback address unless it is told otherwise, so only programs
/// on this machine reach it. It refuses requests that pages of other sites cause. Changes
/// need the token in ``url``; without it the page only shows.
///
/// ## Lifetime
///
/// The server runs until ``stop()`` is called. It keeps the workflows that it shows.
public final class Dashboard: Sendable {
  /// Where the dashboard can be reached from.
  public enum Reach: Sendable, Hashable {
    /// From programs on this machine.
    case thisMachine
    /// From the network, under these names and addresses, such as `build.example`.
    ///
    /// The connection is not encrypted: the token and the names of tasks can be read by
    /// everything between the page and the server.
    case network(hosts: [String])
  }

  /// The error for a server that cannot listen.
  public struct CannotListen: Error, LocalizedError, Sendable {
    /// The port that was asked for.
    public let port: UInt16
    /// The reason, for people.
    public let reason: String

    /// A sentence for people.
    public var errorDescription: String? {
      "the dashboard cannot listen on port \(port): \(reason)"
    }
  }

  /// The address of the page, with the token that changes need.
  ///
  /// Browsers do not send the part with the token to servers.
  public let url: URL

  private let registry: Registry
  private let server: WebServer
  private let knocking: Task<Void, Never>

  /// Starts a dashboard.
  ///
  /// - Parameters:
  ///   - workflow: A workflow to begin with; further ones follow with ``show(_:as:_:)``.
  ///   - port: The port; zero for a free one.
  ///   - reach: Where the page can be reached from.
  ///   - idleLimit: How long a connection may be silent between two requests, how long the head
  ///     and the body of a request may take to arrive, each, and how long a page may take
  ///     nothing of an answer. The connection is closed then.
  /// - Throws: ``CannotListen``, for example if another program uses the port.
  public init(
    showing workflow: Workflow? = nil, port: UInt16 = 0, reach: Reach = .thisMachine,
    idleLimit: Duration = .seconds(60)
  ) async throws {
    let files = try PageFiles()
    let registry = Registry()
    let token = Guard.makeToken()
    var (address, names) = ("127.0.0.1", ["127.0.0.1", "localhost"])
    if case .network(let others) = reach {
      address = "0.0.0.0"
      names += others.map { $0.lowercased() }
    }
    let routes = Routes(
      registry: registry, files: files, guard: Guard(token: token, names: Set(names)))
    let server: WebServer
    do {
      server = try await WebServer(
        address: address, port: port, idleLimit: idleLimit, answer: routes.answer)
    } catch {
      throw CannotListen(port: port, reason: error.message)
    }
    guard let url = URL(string: "http://127.0.0.1:\(server.port)/#token=\(token)") else {
      throw CannotListen(port: port, reason: "there is no address")
    }

    (self.server, self.registry, self.url) = (server, registry, url)
    knocking = Task { [registry] in
      // A page whose machine has gone is noticed only when something is sent to it.
      while (try? await Task.sleep(for: .seconds(10))) != nil {
        for shown in registry.all { await shown.feed.knock() }
      }
    }
    if let workflow { show(workflow) }
  }

  /// Shows a workflow.
  ///
  /// - Parameters:
  ///   - workflow: The workflow. Its present state and all later ones are shown.
  ///   - id: The identifier in addresses; by default made of the workflow's name.
  ///   - presentation: What the page can say beyond what every workflow knows.
  /// - Returns: The identifier: with a number behind it if the wanted one is taken.
  @discardableResult
  public func show(
    _ workflow: Workflow, as id: String? = nil, _ presentation: WorkflowPresentation = .init()
  ) -> String {
    registry.add(workflow, as: id ?? workflow.name, presentation)
  }

  /// Removes a workflow from the dashboard; it goes on as it is.
  ///
  /// - Parameter id: The identifier that ``show(_:as:_:)`` has returned.
  public func hide(_ id: String) { registry.remove(id) }

  /// Offers to make a workflow when a page asks for it.
  ///
  /// - Parameter offer: What can be made.
  public func offer(_ offer: WorkflowOffer) { registry.add(offer) }

  /// Returns the address of the page of a workflow, with the token.
  ///
  /// - Parameter id: The identifier that ``show(_:as:_:)`` has returned.
  public func url(of id: String) -> URL {
    var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
    parts?.queryItems = [URLQueryItem(name: "workflow", value: id)]
    return parts?.url ?? url
  }

  /// Stops the server, also in the middle of answers.
  public func stop() async {
    knocking.cancel()
    await server.stop()
  }
}
