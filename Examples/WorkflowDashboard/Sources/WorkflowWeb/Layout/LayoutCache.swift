import Foundation
import Properations

/// Makes the layouts of a workflow, and keeps the latest ones.
///
/// Several pages that want the same layout share one run of Graphviz.
struct LayoutCache: Sendable {
  private struct Key: Hashable {
    let graph: Int
    let folded: Set<String>
  }

  private let flights = SingleFlight<Key, GraphLayout>(
    timeToLive: .seconds(300), maxCount: 8)
  private let graphviz: Graphviz

  init(_ graphviz: Graphviz) { self.graphviz = graphviz }

  /// Returns the layout of the tasks in a picture.
  func layout(of picture: WorkflowPicture, folded: Set<String>) async throws -> GraphLayout {
    let folders = Set(picture.tasks.compactMap(\.parent))
    let folded = folded.intersection(folders)
    let key = Key(graph: picture.graph, folded: folded)
    return try await flights.load(key, on: .inline) { [graphviz] in
      Promises.async { await Self.make(picture, folded, graphviz) }
    }.value
  }

  private static func make(
    _ picture: WorkflowPicture, _ folded: Set<String>, _ graphviz: Graphviz
  ) async -> GraphLayout {
    let problem: String
    do throws(Graphviz.Failure) {
      let data = try await graphviz.layout(GraphDescription(of: picture.tasks, folded: folded))
      if let answer = try? JSONDecoder().decode(GraphvizAnswer.self, from: data) {
        return answer.layout(of: picture.graph)
      }
      problem = "The answer of Graphviz cannot be read, so there is no drawing."
    } catch {
      problem = error.text
    }
    return GraphLayout(
      graph: picture.graph, width: 0, height: 0, nodes: [], clusters: [], lines: [],
      problem: problem)
  }
}
