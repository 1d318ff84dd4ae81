import Foundation
import Futures
import TestSupport
import TypedTasks

/// One task of a seeded schedule, of any kind, and what is known of it.
final class SeededNode {
  enum Work {
    case source(Source)
    case quick(Kind)
    case consumer(producing: Int)
    case gated(ManualOperation)
    case group(GroupProducerTask<Int, TestError>, members: [Source])
  }

  enum Rule {
    case category(Int)
    case answer(ManualCondition)
    case noCancelledDependencies
    case unmet
    /// Something else has to run before.
    case needs(Counter)
  }

  let stage: Stage
  /// The same, where others can consume its result.
  let producer: ProducerTask<Int, TestError>?
  let work: Work
  let rules: [Rule]
  /// Those that it waits for, by number.
  var dependencies: [Int]

  // What has been seen.
  let starts = Counter()
  let cancels = Counter()
  let finishes = Counter()
  let received = Log<Kind?>()

  // What has happened.
  var isAdded = false
  var hasLateDependency = false
  /// A condition was answered with an error.
  var hasRefusal = false
  var isAnswered = false
  /// It was cancelled before it began.
  var wasCancelledEarly = false
  /// How the group has to end, decided by its cancellation.
  var wasCancelledInside = false
  var end: SourceEnd?

  init(_ work: Work, rules: [Rule], dependencies: [Int], nodes: [SeededNode]) {
    self.work = work
    self.rules = rules
    switch work {
    case .source(let source):
      producer = source
      stage = Stage(source)
    case .quick(let kind):
      let task: ProducerTask<Int, TestError> = kind == .success ? succeeding(1) : failing()
      producer = task
      stage = Stage(task)
    case .consumer(let number):
      // (Only what produces numbers is consumed.)
      let task = BlockConsumerProducerTask<Int, Int, TestError>(
        producing: nodes[number].producer ?? succeeding(0)
      ) { _, consumed, finish in finish(consumed.map { $0 + 1 }) }
      producer = task
      stage = Stage(task)
    case .gated(let operation):
      producer = nil
      stage = Stage(GatedTask(operation: operation))
    case .group(let group, _):
      producer = group
      stage = Stage(group)
    }
    self.dependencies = dependencies
    for number in dependencies { stage.future.addDependency(nodes[number].stage.future) }
    if case .consumer(let number) = work { self.dependencies.append(number) }
    for rule in rules { stage.demand(rule) }
    stage.observe(
      BlockObserver(
        didCancel: { [cancels] _ in cancels.add() }, didFinish: { [finishes] _ in finishes.add() }))
    stage.receive { [received] kind in received.append(kind) }
  }

  var isSettled: Bool { stage.future.isFulfilled }
  var hasStarted: Bool { starts.value > 0 }

  var endedInCircle: Bool {
    if case .cycle = stage.kind() { true } else { false }
  }

  var category: Int? {
    for case .category(let number) in rules { return number }
    return nil
  }

  var condition: ManualCondition? {
    for case .answer(let condition) in rules { return condition }
    return nil
  }

  /// Whether it goes on until somebody ends something.
  var isOpen: Bool {
    switch work {
    case .source(let source): !source.isFulfilled
    case .gated(let operation): !operation.isFinished
    case .group(_, let members): members.contains { !$0.isFulfilled }
    case .quick, .consumer: false
    }
  }

  /// Ends what somebody has to end.
  func end(_ end: SourceEnd) {
    switch work {
    case .source(let source):
      if !source.isFulfilled { self.end = end }
      source.end(end)
    case .gated(let operation): operation.end()
    case .group(_, let members):
      for member in members where member.executions.value > 0 { member.end(end) }
    case .quick, .consumer: break
    }
  }

  /// How it must have ended; `nil` if it cannot be told.
  func expected(_ nodes: [SeededNode]) -> Kind? {
    if wasCancelledEarly { return .cancelled }
    if let end { return Kind(end) }
    if hasRefusal, !hasStarted { return .conditions }
    switch work {
    case .source: return nil
    case .quick(let kind): return kind
    case .consumer(let number): return nodes[number].stage.kind()
    case .gated(let operation): return operation.isCancelled ? .cancelled : .success
    case .group(_, let members):
      return wasCancelledInside ? .cancelled : members.last?.kind
    }
  }
}

extension Kind {
  init(_ end: SourceEnd) {
    self =
      switch end {
      case .success: .success
      case .provided: .provided
      case .internal: .otherInternal
      case .cancelled: .cancelled
      }
  }
}

private enum First {}
private enum Second {}

extension Stage {
  fileprivate func demand(_ rule: SeededNode.Rule) {
    switch rule {
    case .category(0): condition(AnyCondition(Conditions.MutuallyExclusive<First>()))
    case .category: condition(AnyCondition(Conditions.MutuallyExclusive<Second>()))
    case .answer(let manual): condition(AnyCondition(manual))
    case .noCancelledDependencies: condition(AnyCondition(Conditions.NoCancelledDependencies()))
    case .unmet: condition(AnyCondition(Unmet(error: .second)))
    case .needs(let runs): condition(AnyCondition(Needing(runs: runs)))
    }
  }
}

/// A condition that needs another task to run before.
private struct Needing: TaskCondition {
  let runs: Counter

  func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask? {
    BlockProducerTask<Void, Never> { [runs] _, finish in
      runs.add()
      finish(.success)
    }
  }

  func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, TestError>) -> Void
  ) { completion(runs.value == 1 ? .success : .failure(.second)) }
}
