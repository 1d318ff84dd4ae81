import Foundation
import Futures
import TestSupport
import Testing

/// What two threads do at once in one round.
private struct Round<Subject: Sendable>: Sendable {
  let start = SpinBarrier(2)
  let number: Int
  let subject: Subject
}

/// Two threads that meet in the engine within a microsecond.
@Suite("Races that a reading of the engine suspected", .timeLimit(.minutes(5)), .oneAtATime)
struct EngineRaceTests {
  private static let rounds = 4_000

  /// Lets two threads act at once in many rounds, with a growing delay between them, and
  /// returns the number of rounds that went wrong.
  private func wrongRounds<Subject: Sendable>(
    of make: @escaping @Sendable () -> Subject,
    _ first: @escaping @Sendable (Subject) -> Void,
    _ second: @escaping @Sendable (Subject) -> Void,
    isRight: @escaping @Sendable (Subject) -> Bool
  ) async -> Int {
    let wrong = Counter()
    let ended = await RaceHarness(threads: 2, rounds: Self.rounds).run { number in
      Round(number: number, subject: make())
    } act: { (round: Round<Subject>, thread: Int) in
      let delay = round.number % 200 * 3
      round.start.meet(delay: (round.number / 200 % 2 == thread) ? delay : 0)
      if thread == 0 { first(round.subject) } else { second(round.subject) }
    } check: { round, _ in
      if !isRight(round.subject) { wrong.add() }
    }
    #expect(ended)
    return wrong.value
  }

  @Test func `an observer settles while it gets a dependency: its handler runs afterwards`() async {
    struct Scene: Sendable {
      let promise = Promise<Int>()
      let count = Counter()
      let gates = [BlockOperation {}, BlockOperation {}]
      let observer: Future<Int>
      init() {
        observer = promise.onSuccess(on: .inline) { [count] _ in count.add() }
        observer.addDependency(gates[0])
      }
    }
    let wrong = await wrongRounds(of: { Scene() }) { scene in
      scene.promise.succeed(with: 1)
    } _: { scene in
      scene.observer.addDependency(scene.gates[1])
    } isRight: { scene in
      for gate in scene.gates { gate.start() }
      return scene.count.value == 1 && scene.observer.dependencies.isEmpty
    }
    #expect(wrong == 0)
  }

  @Test func `an observer seen through a weak reference while its source settles: it settles too`()
    async
  {
    final class Scene: @unchecked Sendable {
      // Sendable: one thread writes `seen`, and reads it when the other has ended.
      let promise = Promise<Int>()
      weak var observer: Future<Int>?
      var seen: Future<Int>?
      init() { observer = promise.onSuccess(on: .inline) { _ in } }
    }
    let wrong = await wrongRounds(of: { Scene() }) { scene in
      scene.promise.succeed(with: 1)
    } _: { scene in
      scene.seen = scene.observer
    } isRight: { scene in
      scene.seen.map { $0.result?.successValue == 1 && $0.isFinished } ?? true
    }
    #expect(wrong == 0)
  }

  @Test func `a promise linked to two futures at once, then cancelled: both are cancelled`() async {
    let wrong = await wrongRounds(of: { (0..<3).map { _ in Promise<Int>() } }) { promises in
      promises[0].fulfill(from: promises[1])
    } _: { promises in
      promises[0].fulfill(from: promises[2])
    } isRight: { promises in
      promises[0].cancel()
      return promises.allSatisfy { $0.isCancelled }
    }
    #expect(wrong == 0)
  }

  @Test func `a promise linked to two futures at once: the first to settle cancels the other`()
    async
  {
    let wrong = await wrongRounds(of: { (0..<3).map { _ in Promise<Int>() } }) { promises in
      promises[0].fulfill(from: promises[1])
    } _: { promises in
      promises[0].fulfill(from: promises[2])
    } isRight: { promises in
      promises[1].succeed(with: 1)
      return promises[0].result?.successValue == 1 && promises[2].isCancelled
    }
    #expect(wrong == 0)
  }
}
