import Foundation

/// What Graphviz writes with `-Tjson0`, as far as it is needed.
struct GraphvizAnswer: Decodable {
  /// A node, or the area of a cluster.
  private struct Object: Decodable {
    let _gvid: Int
    let name: String
    /// The centre of a node.
    let pos: String?
    /// The lower left and the upper right corner of a cluster.
    let bb: String?
  }

  private struct Edge: Decodable {
    let tail: Int
    let head: Int
    let pos: String?
    let style: String?
  }

  private let bb: String
  private let objects: [Object]?
  private let edges: [Edge]?

  /// The layout in the coordinates of the page, whose vertical axis points downwards.
  func layout(of graph: Int) -> GraphLayout {
    let area = Self.numbers(bb)
    let height = area.count == 4 ? area[3] : 0
    var names: [Int: String] = [:]
    var nodes: [GraphLayout.Box] = []
    var clusters: [GraphLayout.Box] = []
    for object in objects ?? [] {
      if let pos = object.pos {
        let centre = Self.numbers(pos)
        guard centre.count == 2 else { continue }
        names[object._gvid] = object.name
        let box = GraphDescription.box
        nodes.append(
          GraphLayout.Box(
            id: object.name, x: centre[0] - box.width / 2, y: height - centre[1] - box.height / 2,
            width: box.width, height: box.height))
      } else if let bb = object.bb, object.name.hasPrefix("cluster_") {
        let corners = Self.numbers(bb)
        guard corners.count == 4 else { continue }
        clusters.append(
          GraphLayout.Box(
            id: String(object.name.dropFirst("cluster_".count)), x: corners[0],
            y: height - corners[3], width: corners[2] - corners[0],
            height: corners[3] - corners[1]))
      }
    }
    let lines = (edges ?? []).compactMap { edge -> GraphLayout.Line? in
      guard edge.style != "invis", let from = names[edge.tail], let to = names[edge.head] else {
        return nil
      }
      let points = (edge.pos ?? "").split(separator: " ").map { Self.numbers(String($0)) }
        .filter { $0.count == 2 }
      return GraphLayout.Line(
        from: from, to: to, points: points.map { [$0[0], height - $0[1]] })
    }
    return GraphLayout(
      graph: graph, width: area.count == 4 ? area[2] : 0, height: height, nodes: nodes,
      clusters: clusters, lines: lines, problem: nil)
  }

  private static func numbers(_ text: String) -> [Double] {
    text.split(separator: ",").compactMap { Double($0) }
  }
}
