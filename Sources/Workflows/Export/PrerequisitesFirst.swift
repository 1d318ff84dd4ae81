/// Returns the numbers of a graph's nodes, prerequisites first.
///
/// Nodes on a cycle and their dependents are left out. Linear in nodes and edges.
///
/// - Parameter prerequisites: The numbers of the prerequisites of each node.
func prerequisitesFirst(_ prerequisites: [[Int]]) -> [Int] {
  var waiting = prerequisites.map(\.count)
  var dependents: [[Int]] = Array(repeating: [], count: prerequisites.count)
  for (node, prerequisites) in prerequisites.enumerated() {
    for prerequisite in prerequisites { dependents[prerequisite].append(node) }
  }
  var order = prerequisites.indices.filter { waiting[$0] == 0 }
  var next = 0
  while next < order.count {
    for dependent in dependents[order[next]] {
      waiting[dependent] -= 1
      if waiting[dependent] == 0 { order.append(dependent) }
    }
    next += 1
  }
  return order
}
