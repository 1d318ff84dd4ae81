import Properations

/// The tasks of a workflow and of the workflows inside it, in the order of the page.
struct TaskTree {
  struct Node {
    let task: AnyWorkflowTask
    let id: String
    let parent: String?
    let prerequisites: [String]
  }

  private(set) var nodes: [Node] = []
  private(set) var positions: [ObjectIdentifier: Int] = [:]
  private var positionsByID: [String: Int] = [:]

  /// Finds all tasks; no recursion, since workflows may be nested deeply.
  init(of workflow: Workflow) {
    var levels = [(tasks: workflow.allTasks, parent: String?.none, next: 0)]
    while let level = levels.last {
      guard level.next < level.tasks.count else {
        levels.removeLast()
        continue
      }
      levels[levels.count - 1].next += 1
      let task = level.tasks[level.next]
      let id = Self.id(of: level.next, in: level.parent)
      positions[ObjectIdentifier(task)] = nodes.count
      positionsByID[id] = nodes.count
      // Prerequisites were added before, so they have positions.
      let needed = task.prerequisiteTasks.compactMap { positions[ObjectIdentifier($0)] }
      nodes.append(
        Node(
          task: task, id: id, parent: level.parent, prerequisites: needed.map { nodes[$0].id }))
      if let inner = (task as? any Subworkflow)?.subworkflow {
        levels.append((inner.allTasks, id, 0))
      }
    }
  }

  private static func id(of number: Int, in parent: String?) -> String {
    parent.map { "\($0).\(number)" } ?? "\(number)"
  }

  func position(of task: AnyWorkflowTask) -> Int? { positions[ObjectIdentifier(task)] }

  func position(of id: String) -> Int? { positionsByID[id] }

  /// Whether tasks have been added since the tree was made.
  ///
  /// Tasks are never removed, and get all their prerequisites when they are added.
  func isOutdated(_ workflow: Workflow) -> Bool {
    var count = workflow.allTasks.count
    for node in nodes {
      if let inner = node.task as? any Subworkflow { count += inner.subworkflow.allTasks.count }
    }
    return count != nodes.count
  }
}
