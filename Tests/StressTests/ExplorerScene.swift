#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport

  /// A few futures, for programs that do two things to them at the same time.
  ///
  ///   gate ──▶ link ──▶ consumer
  ///              └────▶ observers
  ///   other ┄┄▶ gate or link, where an act says so
  final class Scene: Sendable {
    /// What a thread may do.
    enum Act: String, CaseIterable, Sendable {
      case succeed, fail, cancelGate, cancelLink, cancelConsumer
      case observe, consume, shield, watchGate
      case releaseGate, releaseConsumer
      case linkGateToOther, settleOther, cancelOther
      case dependOnOther, stopDependingOnOther
      case startGate, finishAsOperation
    }

    private let gate: Box<Promise<Int>?>
    private let other = Promise<Int>()
    private let link: Future<Int>
    private let consumer: Box<Future<Int>?>
    /// What the acts have made.
    private let made = Log<AnyFuture>()

    private let wins = Counter()
    private let linkRuns = Counter()
    private let consumerRuns = Counter()
    private let observers = Counter()
    private let observerRuns = Counter()
    private let gateWatchers = Counter()
    private let gateWatcherRuns = Counter()
    private let tracked: Tracked

    init(on context: some ExecutionContext, _ tracker: LifetimeTracker) {
      let tracked = tracker.make()
      self.tracked = tracked
      let gate = Promise<Int>()
      let (linkRuns, consumerRuns) = (linkRuns, consumerRuns)
      link = gate.mapToValue(on: context) {
        linkRuns.add()
        tracked.touch()
        return $0 + 1
      }
      consumer = Box(
        link.mapToValue(on: .inline) {
          consumerRuns.add()
          tracked.touch()
          return $0 + 1
        })
      self.gate = Box(gate)
      observe()
    }

    func perform(_ act: Act) {
      switch act {
      case .succeed: if gate.value?.succeed(with: 1) == true { wins.add() }
      case .fail: if gate.value?.fail(with: TestError.first) == true { wins.add() }
      case .cancelGate: gate.value?.cancel()
      case .cancelLink: link.cancel()
      case .cancelConsumer: consumer.value?.cancel()
      case .observe: observe()
      case .consume: made.append(link.mapToValue(on: .inline) { $0 })
      case .shield: made.append(link.shielded())
      case .watchGate:
        let (runs, tracked) = (gateWatcherRuns, tracked)
        gateWatchers.add()
        gate.value?.onCancellationRequest {
          runs.add()
          tracked.touch()
        }
      case .releaseGate: gate.value = nil
      case .releaseConsumer: consumer.value = nil
      case .linkGateToOther: gate.value?.fulfill(from: other)
      case .settleOther: other.succeed(with: 10)
      case .cancelOther: other.cancel()
      case .dependOnOther: link.addDependency(other)
      case .stopDependingOnOther: link.removeDependency(other)
      case .startGate: gate.value?.start()
      case .finishAsOperation:
        let operation = BlockOperation()
        operation.addDependency(link)
        made.append(Promises.make(awaitingCompletionOf: link, on: .inline) { _ in })
        operation.cancel()
      }
    }

    private func observe() {
      let (runs, tracked) = (observerRuns, tracked)
      observers.add()
      made.append(
        link.onCompletion(on: .inline) { _ in
          runs.add()
          tracked.touch()
        })
    }

    /// Lets everything settle that has not.
    func settleTheRest() {
      other.succeed(with: 10)
      perform(.succeed)
      perform(.releaseGate)
    }

    /// Declares what has to hold in the end.
    func check(_ program: ExploredProgram) {
      program.atEnd("every future has settled and finished") { [self] in
        ([link] + made.entries + (consumer.value.map { [$0] } ?? []))
          .allSatisfy { $0.isFulfilled && $0.isFinished }
      }
      program.atEnd("one settlement wins") { [self] in wins.value <= 1 }
      program.atEnd("each closure runs once at most") { [self] in
        linkRuns.value <= 1 && consumerRuns.value <= 1
          && gateWatcherRuns.value <= gateWatchers.value
      }
      program.atEnd("each observer runs once") { [self] in
        observerRuns.value == observers.value
      }
      program.atEnd("a consumer has the value of its link") { [self] in
        guard let value = try? consumer.value?.result?.get() else { return true }
        return try link.result?.get() == value - 1
      }
      program.atEnd("a value comes from a closure that ran") { [self] in
        link.result?.isSuccess != true || linkRuns.value == 1
      }
      program.always("what has finished has a result") { [self] in
        !link.isFinished || link.result != nil
      }
    }
  }

#endif
