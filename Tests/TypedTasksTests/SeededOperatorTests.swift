import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// Every operator under schedules that a seed decides.
///
/// That is: when its source ends and how, when it is put in a queue, cancelled or
/// let go of, who else looks on, and when the queue comes to its work.
// (The 200,000 seeds of the nightly run take more than a minute.)
@Suite("Seeded schedules of operators", .timeLimit(.minutes(10)), .oneAtATime)
struct SeededOperatorTests {
  /// One run of one operator, and all that is known of it.
  private final class Program {
    private let operation: OperatorCase
    private let stepped = SteppedQueue()
    private let source = Source()
    private let sibling: ProducerTask<Int, TestError>?
    private var stage: Stage?
    private let runs = Counter()

    // What those who look on have seen.
    private let ends = Log<Kind?>()
    private let starts = Counter()
    private let cancels = Counter()
    private let finishes = Counter()
    private let handlersOfCancellation = Counter()
    private var receivers = 0
    private var cancellationHandlers = 0

    // What has happened.
    private var end: SourceEnd?
    private var isAdded = false
    /// It was cancelled before it had settled.
    private var wasCancelled = false

    init(_ operation: OperatorCase, hasSibling: Bool, tracker: LifetimeTracker) {
      self.operation = operation
      let object = tracker.make()
      let stage = operation.make(source) { [runs] in
        object.touch()
        runs.add()
      }
      self.stage = stage
      sibling = hasSibling ? source.map { $0 + 1 } : nil
      if let sibling { stepped.queue.addTask(sibling) }
      stage.observe(
        BlockObserver(
          didStart: { [starts] _ in starts.add() }, didCancel: { [cancels] _ in cancels.add() },
          didFinish: { [finishes] _ in finishes.add() }))
      receive()
    }

    // MARK: Steps

    func act(_ generator: inout SeededGenerator) -> String? {
      switch Int.random(in: 0..<14, using: &generator) {
      case 0, 1: finishSource(&generator)
      case 2: cancelSource()
      case 3: if let fault = cancelStage() { return fault }
      case 4, 5: addStage()
      case 6: stepped.queue.isSuspended.toggle()
      case 7, 8: receive()
      case 9:
        cancellationHandlers += stage == nil ? 0 : 1
        stage?.onCancel { [handlersOfCancellation] in handlersOfCancellation.add() }
      case 10: if isAdded, Int.random(in: 0..<3, using: &generator) == 0 { stage = nil }
      default: stepped.run()
      }
      return contradiction
    }

    private func receive() {
      guard let stage else { return }
      receivers += 1
      stage.receive { [ends] kind in ends.append(kind) }
    }

    private func finishSource(_ generator: inout SeededGenerator) {
      let new = operation.ends.randomElement(using: &generator) ?? .success
      if !source.isFulfilled { end = new }
      source.end(new)
    }

    private func cancelSource() {
      guard operation.ends.contains(.cancelled) else { return }
      // (When it executes, that is a request.)
      if !source.isFulfilled, !source.isExecuting { end = .cancelled }
      source.cancel()
    }

    private func addStage() {
      guard !isAdded, let stage else { return }
      isAdded = true
      stage.add(stepped.queue)
    }

    private func cancelStage() -> String? {
      guard let stage else { return nil }
      let isPending = !stage.future.isFulfilled
      let isSourcePending = !source.isFulfilled
      let wasSourceCancelled = source.isCancelled
      stage.future.cancel()
      stage.future.cancel()
      guard isPending else { return nil }
      wasCancelled = true
      if stage.kind() != .cancelled { return "cancelled, and is \(stage.kind() as Any)" }
      // (What its closure has gone on with is cancelled instead.)
      guard isSourcePending, !wasSourceCancelled else { return nil }
      if source.isCancelled != (sibling == nil) {
        return "the source was cancelled: \(source.isCancelled)"
      }
      if source.isFulfilled { end = .cancelled }
      return nil
    }

    /// What may never be seen, at any moment.
    private var contradiction: String? {
      if source.executions.value > 1 { return "the source ran twice" }
      if source.executions.value > 0, !isAdded, sibling == nil { return "ran in no queue" }
      if finishes.value > 1 || starts.value > 1 || cancels.value > 1 { return "was told twice" }
      if Set(ends.entries.map { "\($0 as Any)" }).count > 1 { return "ended in two ways" }
      guard let future = stage?.future else { return nil }
      if future.isFinished, !future.isFulfilled { return "finished without a result" }
      if future.isFinished, future.isExecuting { return "finished and executing" }
      if ends.count > 0, !future.isFulfilled { return "received before the end" }
      return nil
    }

    // MARK: The end

    func finish(_ generator: inout SeededGenerator) -> String? {
      stepped.queue.isSuspended = false
      addStage()
      stepped.run()
      if let contradiction { return contradiction }
      if end == nil { finishSource(&generator) }
      stepped.run()
      guard let end else { return "the source never ended" }
      return contradiction ?? fault(after: end)
    }

    private func fault(after end: SourceEnd) -> String? {
      let expected = operation.expected(for: end)
      let kind = wasCancelled ? .cancelled : expected.kind
      if ends.count != receivers { return "\(receivers) wait, \(ends.count) were told" }
      if ends.entries.contains(where: { $0 != kind }) {
        return "\(ends.entries[0] as Any), not \(kind)"
      }
      let runsExpected = wasCancelled ? 0...expected.runs : expected.runs...expected.runs
      if !runsExpected.contains(runs.value) {
        return "ran \(runs.value) times, not \(runsExpected)"
      }
      let cancellations = kind == .cancelled ? 1 : 0
      if cancels.value != cancellations { return "\(cancels.value) cancellations were observed" }
      if handlersOfCancellation.value != cancellations * cancellationHandlers {
        return "\(handlersOfCancellation.value) of \(cancellationHandlers) handlers were called"
      }
      if finishes.value != 1 { return "\(finishes.value) ends were observed" }
      if let sibling {
        let passed: Kind =
          switch end {
          case .success: .success
          case .provided: .provided
          case .internal: .otherInternal
          case .cancelled: .cancelled
          }
        if sibling.kind != passed { return "the sibling is \(sibling.kind as Any)" }
      }
      if let stage, !stage.future.isFinished { return "settled, and has not finished" }
      return stepped.isEmpty ? nil : "the queue is not empty: \(stepped.queue.operations)"
    }
  }

  @Test("78. 80. 96. 105. Every operator, in whatever order things happen, keeps its word")
  func seeded() async {
    await SeededSchedules.play("SeededOperatorTests") { generator in
      guard let operation = OperatorCase.all.randomElement(using: &generator) else {
        return "there are no operators"
      }
      let tracker = LifetimeTracker()
      do {
        let hasSibling = Bool.random(using: &generator)
        let program = Program(operation, hasSibling: hasSibling, tracker: tracker)
        for _ in 0..<Int.random(in: 1...20, using: &generator) {
          if let fault = program.act(&generator) { return "\(operation.name): \(fault)" }
        }
        if let fault = program.finish(&generator) { return "\(operation.name): \(fault)" }
      }
      // (The queue's thread may be letting go just now.)
      if tracker.alive == 0 { return nil }
      return await eventually { tracker.alive == 0 }
        ? nil : "\(operation.name): something that a closure captured is kept"
    }
  }
}
