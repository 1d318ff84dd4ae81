/// One walk from a pending future to its roots.
///
/// Follows the edges of `Graph`. A chain is a run of futures that wait for one future and for
/// nothing else. Of a run the walk keeps the first futures, and the last few in a ring.
struct ExplanationWalk {
  private static let (mostSteps, mostRoots, mostInputs, endOfRun) = (96, 16, 8, 6)
  private static let mostVisits = 2_000_000

  private var explanation = FutureExplanation()
  /// The futures still to visit, and the step that waits for them.
  private var stack: [(future: AnyFuture, parent: Int?)] = []
  private var seen: Set<ObjectIdentifier> = []
  /// The positions of the futures in the explanation, which are kept so that no new object gets
  /// the identity of a released one.
  private var positions: [ObjectIdentifier: (position: Int, future: AnyFuture)] = [:]
  private var queues = QueueStates()
  private var visits = 0

  mutating func explain(_ future: AnyFuture) -> FutureExplanation {
    stack = [(future, nil)]
    while let (next, parent) = stack.popLast() {
      if visits >= Self.mostVisits {
        explanation.isTruncated = true
        break
      }
      walk(from: next, parent)
    }
    return explanation
  }

  /// Follows the run that begins with a future, and visits the future at the end of the run.
  private mutating func walk(from first: AnyFuture, _ parent: Int?) {
    var (current, parent) = (first, parent)
    var length = 0
    var end: [AnyFuture] = []
    var leftOut = 0
    while true {
      let id = ObjectIdentifier(current)
      if let known = positions[id] {
        keep(end, leavingOut: leftOut, after: &parent)
        if let parent, parent != known.position { link(parent, to: known.position) }
        return
      }
      guard seen.insert(id).inserted else {
        keep(end, leavingOut: leftOut, after: &parent)
        if let parent { explanation.steps[parent].moreCount += 1 }
        return
      }
      visits += 1
      let inputs = current.pendingInputs
      guard let next = inputs.first, inputs.count == 1, visits < Self.mostVisits,
        current.waitsForOneFutureOnly
      else {
        keep(end, leavingOut: leftOut, after: &parent)
        return visit(current, inputs, parent)
      }
      length += 1
      if length <= Self.endOfRun {
        parent = add(current, parent, inputs) ?? parent
      } else {
        end.append(current)
        if end.count > Self.endOfRun {
          end.removeFirst()
          leftOut += 1
        }
      }
      current = next
    }
  }

  /// Adds the last futures of a run.
  private mutating func keep(_ end: [AnyFuture], leavingOut count: Int, after parent: inout Int?) {
    if count > 0 {
      explanation.omittedCount += count
      if let parent { explanation.steps[parent].leftOutCount = count }
    }
    for future in end { parent = add(future, parent, [future]) ?? parent }
  }

  /// Visits a future that waits for several futures, for none, or for something else as well.
  private mutating func visit(_ future: AnyFuture, _ inputs: [AnyFuture], _ parent: Int?) {
    let position = add(future, parent, inputs)
    if let position {
      if inputs.count > Self.mostInputs {
        explanation.steps[position].moreCount = inputs.count - Self.mostInputs
      }
      explanation.steps[position].needsOnlyOne = inputs.count > 1 && future.needsOneInput
    }
    for input in inputs.prefix(Self.mostInputs).reversed() { stack.append((input, position)) }
  }

  /// Adds a step.
  ///
  /// Returns `nil` if there are enough steps. Roots are added a little longer.
  private mutating func add(
    _ future: AnyFuture, _ parent: Int?, _ inputs: [AnyFuture]
  ) -> Int? {
    let isRoot = inputs.isEmpty
    let position = explanation.steps.count
    guard position < Self.mostSteps || isRoot && explanation.roots.count < Self.mostRoots else {
      explanation.omittedCount += 1
      return nil
    }
    let reasons = future.reasonsToWait(hasInputs: !isRoot, &queues)
    explanation.steps.append(
      FutureExplanation.Step(
        createdAt: future.createdAt, name: future.ownName, reasons: reasons))
    positions[ObjectIdentifier(future)] = (position, future)
    if isRoot { explanation.roots.append(position) }
    if let parent { link(parent, to: position) }
    return position
  }

  private mutating func link(_ parent: Int, to position: Int) {
    if !explanation.steps[parent].waitsFor.contains(position) {
      explanation.steps[parent].waitsFor.append(position)
    }
  }
}

extension AnyFuture {
  /// The pending futures that this one waits for, each once.
  fileprivate final var pendingInputs: [AnyFuture] {
    let all = futuresWaitedFor
    guard !isSettled, !all.isEmpty else { return [] }
    if all.count == 1 { return all[0].isSettled || all[0] === self ? [] : all }
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
    return all.filter { !$0.isSettled && seen.insert(ObjectIdentifier($0)).inserted }
  }

  /// Whether a future with one pending input waits for that input and for nothing else.
  fileprivate final var waitsForOneFutureOnly: Bool {
    !isSettled && behaviour == nil && !hasDependencies && !traits.contains(.hasTimer)
      && ownName == nil && !isRunning
  }

  /// Whether one of the futures that this one waits for is enough.
  fileprivate final var needsOneInput: Bool {
    if let behaviour {
      if case .oneOfAwaited = behaviour.need(of: self) { return true }
      return false
    }
    if case .source(let source) = storage.upstream { return source.needsOnlyOne }
    return false
  }
}
