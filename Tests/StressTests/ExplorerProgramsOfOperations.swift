#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport
  import Testing

  @Suite("Explored programs: operation queues", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfOperations {
    /// What a thread may do to a queue, or to what is in it.
    enum Act: String, CaseIterable, Sendable {
      case succeed, cancelLink, releaseGate, addLink, addGate, cancelQueue
      case runBarrier, cancelBarrier, makeBlocking, dropBlocking, dependOnBlocking
      case addDependent, cancelDependent, tieToLink

      /// Whether two acts bring Foundation down on Linux, without this library, too.
      ///
      /// Its barriers keep bare pointers to what is behind them; an operation of
      /// Foundation's own that is cancelled there ends first.
      func crashesFoundation(beside other: Act) -> Bool {
        (self == .runBarrier || self == .cancelBarrier) && other == .cancelDependent
      }
    }

    /// A queue, a promise, and a link.
    private final class Scene: Sendable {
      let queue: OperationQueue
      let gate: Box<Promise<Int>?>
      let link: Future<Int>
      let made = Log<AnyFuture>()
      let barriers = Counter()
      let barrierRuns = Counter()

      init(_ program: ExploredProgram) {
        let thread = program.dispatchQueue()
        queue = OperationQueue()
        queue.underlyingQueue = thread.queue
        queue.maxConcurrentOperationCount = 100
        thread.serve(queue, hasBarriers: true)
        let gate = Promise<Int>()
        // (Not on the queue: a barrier behind something that waits for the link would
        // hold its closure back.)
        link = gate.mapToValue(on: .inline) { $0 + 1 }
        self.gate = Box(gate)
      }

      func perform(_ act: Act) {
        switch act {
        case .succeed: gate.value?.succeed(with: 1)
        case .cancelLink: link.cancel()
        case .releaseGate: gate.value = nil
        case .addLink: try? queue.addFuture(link)
        case .addGate: if let gate = gate.value { try? queue.addFuture(gate) }
        case .cancelQueue: queue.cancelAllOperations()
        case .runBarrier: made.append(runBarrier())
        case .cancelBarrier:
          let barrier = runBarrier()
          made.append(barrier)
          barrier.cancel()
        case .makeBlocking:
          made.append(
            Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) {
              $0.succeed(with: 1)
            })
        case .dropBlocking:
          // (What stands in the queue keeps it until it was started.)
          made.append(
            Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) { _ in
            }.mapToValue(on: .inline) { $0 })
        case .dependOnBlocking:
          let blocking = Promises.makeBlocking(
            in: queue, promising: Int.self, on: .inline
          ) { $0.succeed(with: 1) }
          blocking.addDependency(link)
          made.append(blocking)
        case .addDependent: queue.addOperation(BlockOperation {}.addDependency(link))
        case .cancelDependent:
          let operation = BlockOperation {}.addDependency(link)
          queue.addOperation(operation)
          operation.cancel()
        case .tieToLink:
          let promise = Promise<Int>().cancel(onFailureOf: link)
          made.append(promise)
          link.onSuccess(on: .inline) { promise.succeed(with: $0) }
        }
      }

      private func runBarrier() -> Future<Void> {
        let runs = barrierRuns
        barriers.add()
        return queue.run(barrier: true) { runs.add() }
      }

      func check(_ program: ExploredProgram) {
        program.atEnd("every future has settled and finished") { [self] in
          ([link] + made.entries).allSatisfy { $0.isFulfilled && $0.isFinished }
        }
        program.atEnd("no barrier runs twice") { [self] in
          barrierRuns.value <= barriers.value
        }
        program.atEnd("the queue is empty") { [self] in queue.operationCount == 0 }
      }
    }

    @Test(arguments: Act.allCases)
    func `any two acts on an operation queue leave nothing behind`(_ first: Act) async throws {
      let index = try #require(Act.allCases.firstIndex(of: first))
      let explorer = Explorer(preemptions: 2, limit: size(200))
      for second in Act.allCases[index...] where !first.crashesFoundation(beside: second) {
        try await explorer.explore("\(first) beside \(second) on a queue") { program in
          let scene = Scene(program)
          program.thread { scene.perform(first) }
          program.thread { scene.perform(second) }
          program.afterwards {
            scene.gate.value?.succeed(with: 1)
            scene.gate.value = nil
          }
          scene.check(program)
        }
      }
    }
  }

#endif
