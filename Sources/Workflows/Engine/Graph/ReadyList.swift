/// The tasks that wait for a worker, by priority and then in order of arrival.
struct ReadyList {
  private struct Line {
    var tasks: ContiguousArray<TaskIndex> = []
    var head = 0

    mutating func popFirst() -> TaskIndex? {
      guard head < tasks.count else { return nil }
      let task = tasks[head]
      head += 1
      if head == tasks.count {
        tasks.removeAll(keepingCapacity: tasks.capacity <= 4096)
        head = 0
      } else if head >= 4096, head * 2 >= tasks.count {
        tasks.removeFirst(head)
        head = 0
      }
      return task
    }
  }

  private var normal = Line()
  /// Lines of other priorities, highest first.
  private var others: [(priority: Int8, line: Line)] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  @inline(__always)
  mutating func append(_ task: TaskIndex, priority: Int8) {
    count += 1
    if priority == 0 { return normal.tasks.append(task) }
    let place = others.firstIndex(where: { $0.priority <= priority }) ?? others.count
    if place == others.count || others[place].priority != priority {
      others.insert((priority, Line()), at: place)
    }
    others[place].line.tasks.append(task)
  }

  @inline(__always)
  mutating func popFirst() -> TaskIndex? {
    guard count > 0 else { return nil }
    count -= 1
    return others.isEmpty ? normal.popFirst() : popByPriority()
  }

  private mutating func popByPriority() -> TaskIndex? {
    for place in others.indices {
      if others[place].priority < 0, let task = normal.popFirst() { return task }
      if let task = others[place].line.popFirst() { return task }
    }
    return normal.popFirst()
  }
}
