/// One reading of the progress of a future, by a walk to its roots.
///
/// No future stores the progress of another one. The value of a future is made of the values
/// of its inputs. A run of futures with one input each is an affine function of its source, so
/// it needs no memory. In a graph with joins each future is visited once, after its inputs.
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
    /// The choice among the inputs; `nil` if all of them count.
    var choice: ProgressChoice?

    /// The value of the future itself, if the values of the inputs are not counted.
    var ownValue: Double { report?.fractionCompleted ?? base }
    var isOwnValueKnown: Bool { isKnown || report?.isIndeterminate == false }
  }

  /// The value of a future, and whether any producer has made it known.
  private typealias Value = (fraction: Double, isKnown: Bool)

  /// The futures at which the progress can change.
  private(set) var points: [AnyFuture] = []
  private(set) var progress = FutureProgress.unknown
  /// The number of futures that were read.
  private(set) var visits = 1

  /// Reads the progress of a future.
  ///
  /// - Complexity: O(the number of pending futures upstream and of their inputs); O(n log n)
  ///   for the n inputs of a race.
  init(from future: AnyFuture) {
    points.append(future)
    var (current, step) = (future, future.progressStep)
    var (offset, scale, isKnown) = (0.0, 1.0, false)
    var last = future
    while step.inputs.count == 1, step.choice == nil {
      if step.mayGrow, current !== future { points.append(current) }
      offset += scale * step.base
      scale *= step.inputs[0].share
      isKnown = isKnown || step.isKnown
      (last, current) = (current, step.inputs[0].future)
      visits += 1
      step = current.progressStep
    }
    if current !== future { points.append(current) }
    // The closure of the last one may make a future to continue with.
    if current.isSettled { points.append(last) }
    guard step.inputs.isEmpty, step.choice == nil else {
      let value = value(of: current, step)
      if isKnown || value.isKnown { progress = .fraction(offset + scale * value.fraction) }
      return
    }
    if let report = step.report, scale == 1, offset == 0 {
      progress = report
    } else if isKnown || step.isOwnValueKnown {
      progress = .fraction(offset + scale * step.ownValue)
    }
  }

  /// Reads a graph: the value of each future after those of its inputs.
  private mutating func value(of root: AnyFuture, _ step: Step) -> Value {
    var nodes: [(future: AnyFuture, step: Step)] = [(root, step)]
    var values: [Value] = [(0, false)]
    var positions = [ObjectIdentifier(root): 0]
    var stack = [(position: 0, next: 0)]
    while let (position, next) = stack.popLast() {
      let step = nodes[position].step
      guard next < step.inputs.count else {
        if step.inputs.isEmpty || step.mayGrow
          || step.inputs.count == 1 && step.inputs[0].future.isSettled
        {
          points.append(nodes[position].future)
        }
        let inputs = step.inputs.map { values[positions[ObjectIdentifier($0.future)] ?? 0] }
        values[position] = Self.value(of: step, inputs)
        continue
      }
      stack.append((position, next + 1))
      let input = step.inputs[next].future
      if step.inputs.count > 1 || step.choice != nil { points.append(input) }
      guard positions[ObjectIdentifier(input)] == nil else { continue }
      positions[ObjectIdentifier(input)] = nodes.count
      stack.append((nodes.count, 0))
      nodes.append((input, input.progressStep))
      values.append((0, false))
    }
    visits += nodes.count - 1
    return values[0]
  }

  /// The value of a future whose inputs have these values.
  private static func value(of step: Step, _ inputs: [Value]) -> Value {
    var value = (fraction: step.ownValue, isKnown: step.isOwnValueKnown)
    var counted = zip(step.inputs, inputs).map { (share: $0.share, value: $1) }
    if let choice = step.choice, counted.count > choice.count {
      counted.sort { $0.value.fraction > $1.value.fraction }
      counted.removeLast(counted.count - choice.count)
    }
    for (share, input) in counted {
      value.fraction += share * input.fraction
      value.isKnown = value.isKnown || input.isKnown
    }
    if let choice = step.choice {
      value.fraction = choice.mark.raiseProgress(to: value.fraction)
      value.isKnown = value.isKnown || value.fraction > 0
    }
    return value
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
    let (upstream, report, turn) = storage.progressState
    let root = ProgressWalk.Step(report: report)
    if let behaviour {
      guard report == nil, let parts = behaviour.progressParts(of: self), parts.total > 0 else {
        return root
      }
      return parts.step(isInHalves: false)
    }
    let isInHalves = traits.contains(.worksInHalves)
    switch upstream {
    case .none, .source(is BlockedHolder):
      // The closure of a combinator runs, or waits: its source has succeeded. (A future that
      // begins with a closure acts always.)
      guard isRunning, traits.contains(.actsOnSuccess),
        !traits.contains(.actsAlways)
      else { return root }
      if isInHalves { return ProgressWalk.Step(base: 0.5, isKnown: true) }
      if let turn { return turn.next.step(of: nil) }
      return mapsValuesToFutures ? root : ProgressWalk.Step(base: 1, isKnown: true)
    case .future, .reference:
      if let turn { return turn.step(of: upstream.existingFuture) }
      // Such a source only lets the work begin.
      if mapsValuesToFutures, !isInHalves { return root }
      guard let source = upstream.existingFuture else { return root }
      return ProgressWalk.Step(inputs: [(source, isInHalves ? 0.5 : 1)])
    case .source(let source):
      // A delay begins when the source has succeeded.
      if source is Timer, traits.contains(.actsOnSuccess) {
        return ProgressWalk.Step(base: 1, isKnown: true)
      }
      guard let parts = source.progressParts, parts.total > 0 else { return root }
      return parts.step(isInHalves: isInHalves)
    }
  }
}
