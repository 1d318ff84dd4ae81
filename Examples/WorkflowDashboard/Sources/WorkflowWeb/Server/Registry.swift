import Foundation
import Properations
import Synchronization

/// A workflow that is shown, and what serves its pages.
struct ShownWorkflow: Sendable {
  let feed: WorkflowFeed
  let control: WorkflowControl
  let layouts: LayoutCache
}

/// The workflows that are shown, by identifier, and those that can be made.
final class Registry: Sendable {
  /// How many workflows pages may have made.
  private static let limitOfMade = 32

  private struct State {
    var order: [String] = []
    var shown: [String: ShownWorkflow] = [:]
    var made: Set<String> = []
    var offers: [WorkflowOffer] = []
  }

  private let state = Mutex(State())
  private let graphviz: Graphviz
  /// Runs what the buttons ask for.
  private let actions = OperationQueue()
  /// Runs Graphviz, for two layouts at a time.
  private let layouts = OperationQueue()

  init() {
    actions.name = "WorkflowWeb: actions"
    layouts.name = "WorkflowWeb: layouts"
    layouts.maxConcurrentOperationCount = 2
    graphviz = Graphviz(path: ProcessInfo.processInfo.environment["PATH"], on: layouts)
  }

  subscript(id: String) -> ShownWorkflow? { state.withLock { $0.shown[id] } }

  /// All shown workflows, in the order in which they were shown.
  var all: [ShownWorkflow] {
    state.withLock { state in state.order.compactMap { state.shown[$0] } }
  }

  var offers: [WorkflowOffer] { state.withLock { $0.offers } }

  func add(_ offer: WorkflowOffer) { state.withLock { $0.offers.append(offer) } }

  /// Shows a workflow.
  ///
  /// - Returns: The identifier: the wanted one with a number behind it if it is taken.
  func add(
    _ workflow: Workflow, as wanted: String, _ presentation: WorkflowPresentation
  ) -> String {
    let wanted = Self.identifier(wanted)
    while true {
      let id = state.withLock { state in
        guard state.shown[wanted] != nil else { return wanted }
        var number = 2
        while state.shown["\(wanted)-\(number)"] != nil { number += 1 }
        return "\(wanted)-\(number)"
      }
      // Made without the lock: it asks the workflow for its tasks.
      let shown = show(workflow, as: id, presentation)
      let isFree = state.withLock { state in
        guard state.shown[id] == nil else { return false }
        state.shown[id] = shown
        state.order.append(id)
        return true
      }
      if isFree { return id }
    }
  }

  /// Makes a workflow that was offered, unless there is one with the identifier.
  ///
  /// - Returns: The identifier, and whether the workflow is new.
  func make(_ offerID: String, argument: String) throws -> (id: String, isNew: Bool) {
    guard let offer = offers.first(where: { $0.id == offerID }) else {
      throw RequestError(.notFound, "There is no offer of this name.")
    }
    let id = Self.identifier("\(offerID)-\(argument)")
    if self[id] != nil { return (id, false) }
    guard state.withLock({ $0.made.count }) < Self.limitOfMade else {
      throw RequestError(
        .tooManyRequests, "Too many workflows have been made. Restart the program.")
    }
    let made: WorkflowOffer.Made
    do { made = try offer.make(argument) } catch {
      throw RequestError(.badRequest, error.shownMessage)
    }
    let shown = show(made.workflow, as: id, made.presentation)
    let isNew = state.withLock { state in
      guard state.shown[id] == nil else { return false }
      state.shown[id] = shown
      state.order.append(id)
      state.made.insert(id)
      return true
    }
    return (id, isNew)
  }

  func remove(_ id: String) {
    let removed = state.withLock { state in
      state.order.removeAll { $0 == id }
      state.made.remove(id)
      return state.shown.removeValue(forKey: id)
    }
    withExtendedLifetime(removed) {}
  }

  private func show(
    _ workflow: Workflow, as id: String, _ presentation: WorkflowPresentation
  ) -> ShownWorkflow {
    let feed = WorkflowFeed(id, workflow, presentation)
    Task { await feed.begin() }
    return ShownWorkflow(
      feed: feed, control: WorkflowControl(workflow, presentation, on: actions),
      layouts: LayoutCache(graphviz))
  }

  /// A name as a part of an address: letters, digits and a few other ASCII characters.
  static func identifier(_ name: String) -> String {
    let allowed = name.lowercased().unicodeScalars.map { scalar -> Character in
      let character = Character(scalar)
      let isWord = character.isASCII && (character.isLetter || character.isNumber)
      return isWord || character == "." || character == "_" ? character : "-"
    }
    let words = String(allowed.prefix(80)).split(separator: "-").joined(separator: "-")
    // A path of dots would lead elsewhere, and an empty one nowhere.
    let hasWord = words.contains { $0.isLetter || $0.isNumber }
    return hasWord ? words : "workflow"
  }
}
