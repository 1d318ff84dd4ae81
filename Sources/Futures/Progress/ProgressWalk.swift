/// One reading of the progress of a future, by a walk to its roots.
///
/// No future stores the progress of another one. The value of a future is an affine function
/// of the values of its inputs. So a run of futures with one input each needs no memory, and a
/// graph with joins passes the weights from the reader to the roots, each future once.
struct ProgressWalk {
  /// What the value of one future is made of: `base`, and a share of each input's value.
  struct Step {
    var base = 0.0
    var inputs: [(future: AnyFuture, share: Double)] = []
    /// The report of a root.
    var report: FutureProgress?
    /// Whether `base` is known, and not only zero because no producer has reported.
    var isKnown = false
    /// Whether more inputs may come.
    var mayGrow = false
  }

  /// The futures at which the progress can change.
  private(set) var points: [AnyFuture] = []
  private(set) var progress = FutureProgress.unknown
  /// The number of futures that were read.
  private(set) var visits = 1

  /// Reads the progress of a future.
  ///
  /// - Complexity: O(the number of pending futures upstream and of their inputs).
  init(from future: AnyFuture) {
    points.append(future)
    var (current, step) = (future, future.progressStep)
    var (offset, scale, isKnown) = (0.0, 1.0, false)
    while step.inputs.count == 1 {
      if step.mayGrow, current !== future { points.append(current) }
      offset += scale * step.base
      scale *= step.inputs[0].share
      isKnown = isKnown || step.isKnown
      current = step.inputs[0].future
      visits += 1
      step = current.progressStep
    }
    if current !== future { points.append(current) }
    guard step.inputs.isEmpty else {
      let (value, isGraphKnown) = sum(from: current, step)
      if isKnown || isGraphKnown { progress = .fraction(offset + scale * value) }
      return
    }
    if let report = step.report, scale == 1, offset == 0 {
      progress = report
    } else if isKnown || step.isKnown || step.report?.isIndeterminate == false {
      progress = .fraction(offset + scale * (step.report?.fractionCompleted ?? step.base))
    }
  }

  /// Sums up a graph.
  private mutating func sum(from root: AnyFuture, _ step: Step) -> (Double, isKnown: Bool) {
    var nodes: [(future: AnyFuture, step: Step)] = [(root, step)]
    var positions = [ObjectIdentifier(root): 0]
    var order: [Int] = []
    // Inputs before those that they are inputs of.
    var stack = [(position: 0, next: 0)]
    while let (position, next) = stack.popLast() {
      let inputs = nodes[position].step.inputs
      guard next < inputs.count else {
        order.append(position)
        continue
      }
      stack.append((position, next + 1))
      let input = inputs[next].future
      if inputs.count > 1 { points.append(input) }
      guard positions[ObjectIdentifier(input)] == nil else { continue }
      positions[ObjectIdentifier(input)] = nodes.count
      stack.append((nodes.count, 0))
      nodes.append((input, input.progressStep))
    }
    visits += nodes.count - 1
    var weights = Array(repeating: 0.0, count: nodes.count)
    weights[0] = 1
    var (value, isKnown) = (0.0, false)
    for position in order.reversed() {
      let (future, step) = nodes[position]
      let weight = weights[position]
      if step.inputs.isEmpty || step.mayGrow { points.append(future) }
      isKnown = isKnown || step.isKnown || step.report?.isIndeterminate == false
      value += weight * (step.report?.fractionCompleted ?? step.base)
      for (input, share) in step.inputs {
        if let index = positions[ObjectIdentifier(input)] { weights[index] += weight * share }
      }
    }
    return (value, isKnown)
  }
}

/// The parts of a future's work, as the waiter knows them that works for the future.
package struct ProgressParts {
  /// The weight of the parts that are complete.
  var done: Double
  /// The weight of all parts.
  var total: Double
  var pending: [(future: AnyFuture, weight: Double)]
  /// Whether more parts may begin while these are pending.
  var mayGrow = false
}

extension ProgressParts {
  /// The parts of work that is all done by these futures.
  init(_ futures: [AnyFuture]) {
    self.init(done: 0, total: Double(futures.count), pending: futures.map { ($0, 1) })
  }
}

extension AnyFuture {
  /// Whether the future's closure acts on a value and returns another future.
  private final var mapsValuesToFutures: Bool {
    traits.contains([.mayBeReleasedPending, .actsOnSuccess])
  }

  /// What the progress of this future is made of at this moment.
  fileprivate final var progressStep: ProgressWalk.Step {
    if isSettled {
      let isSuccess = outcome == .success
      return ProgressWalk.Step(base: isSuccess ? 1 : 0, isKnown: isSuccess)
    }
    let (upstream, report) = storage.progressState
    let root = ProgressWalk.Step(report: report)
    guard behaviour == nil else { return root }
    let isInHalves = traits.contains(.worksInHalves)
    switch upstream {
    case .none:
      // The closure of a combinator runs: its source has succeeded. (A future that begins
      // with a closure acts always.)
      guard storage.flags.contains(.executing), traits.contains(.actsOnSuccess),
        !traits.contains(.actsAlways)
      else { return root }
      if isInHalves { return ProgressWalk.Step(base: 0.5, isKnown: true) }
      return mapsValuesToFutures ? root : ProgressWalk.Step(base: 1, isKnown: true)
    case .future, .reference:
      // Such a source only lets the work begin.
      if mapsValuesToFutures, !isInHalves { return root }
      guard let source = upstream.existingFuture else { return root }
      return ProgressWalk.Step(inputs: [(source, isInHalves ? 0.5 : 1)])
    case .source(let source):
      guard let parts = source.progressParts, parts.total > 0 else { return root }
      let half = isInHalves ? 0.5 : 1
      let inputs = parts.pending.map { ($0.future, half * $0.weight / parts.total) }
      return ProgressWalk.Step(
        base: 1 - half + half * parts.done / parts.total, inputs: inputs,
        isKnown: isInHalves || parts.done > 0, mayGrow: parts.mayGrow)
    }
  }
}
