import Foundation
import Futures
import TestSupport
import Testing

/// Combinators that capture an object in their closure.
struct Capturing: Sendable, CustomTestStringConvertible {
  let name: String
  let derive: @Sendable (Future<Int>, Tracked) -> AnyFuture

  var testDescription: String { name }

  init(_ name: String, _ derive: @escaping @Sendable (Future<Int>, Tracked) -> AnyFuture) {
    self.name = name
    self.derive = derive
  }

  static let all: [Capturing] = [
    Capturing("mapToValue") { f, t in f.mapToValue(on: .inline) { _ in t.touch() } },
    Capturing("mapToValue keeping the object as its value") { f, t in
      f.mapToValue(on: .inline) { _ in t }.mapToVoid()
    },
    Capturing("compactMapToValue") { f, t in
      f.compactMapToValue(on: .inline) { _ -> Int? in
        t.touch(); return nil
      }
    },
    Capturing("mapToFuture") { f, t in
      f.mapToFuture(on: .inline) { _ in
        t.touch(); return Promises.makeSucceeded(with: 1)
      }
    },
    Capturing("mapToFuture, later") { f, t in
      f.mapToFuture(on: .inline) { _ in
        Promises.delay(for: .milliseconds(1)).mapToValue(on: .inline) { t.touch() }
      }
    },
    Capturing("mapToFuture to a broken one") { f, t in
      f.mapToFuture(on: .inline) { _ in
        let promise = Promise<Int>()
        promise.onCancellationRequest { t.touch() }
        return promise
      }
    },
    Capturing("mapResult") { f, t in
      f.mapResult(on: .inline) {
        t.touch(); return $0
      }
    },
    Capturing("recover") { f, t in
      f.recover(on: .inline) { _ in
        t.touch(); return 1
      }
    },
    Capturing("recover from type") { f, t in
      f.recover(on: .inline, from: TestError.self) { _ in
        t.touch(); return 1
      }
    },
    Capturing("recoverToFuture") { f, t in
      f.recoverToFuture(on: .inline) { _ in
        t.touch(); return Promises.makeSucceeded(with: 1)
      }
    },
    Capturing("mapError") { f, t in
      f.mapError(on: .inline) {
        t.touch(); return $0
      }
    },
    Capturing("onSuccess") { f, t in f.onSuccess(on: .inline) { _ in t.touch() } },
    Capturing("onFailure") { f, t in f.onFailure(on: .inline) { _ in t.touch() } },
    Capturing("onCompletion") { f, t in f.onCompletion(on: .inline) { _ in t.touch() } },
    Capturing("onCancel") { f, t in f.onCancel(on: .inline) { t.touch() } },
    Capturing("always") { f, t in f.always(on: .inline) { t.touch() } },
    Capturing("always async") { f, t in
      f.always {
        await Task.yield()
        t.touch()
      }
    },
    Capturing("ensure") { f, t in
      f.ensure(on: .inline) { _ in
        t.touch(); return false
      }
    },
    Capturing("mapElementsToValue") { f, t in
      f.mapToValue(on: .inline) { [$0] }.mapElementsToValue(on: .inline) { _ in t.touch() }
    },
    Capturing("mapElementsToFuture") { f, t in
      f.mapToValue(on: .inline) { Array(0...$0 + 5) }
        .mapElementsToFuture(on: .inline, maxConcurrent: 2) { _ in
          Promises.delay(for: .zero).mapToValue(on: .inline) { t.touch() }
        }
    },
    Capturing("mapElementsToFuture that fails") { f, t in
      f.mapToValue(on: .inline) { Array(0...$0 + 5) }
        .mapElementsToFuture(on: .global(), maxConcurrent: 3) { index -> Future<Int> in
          t.touch()
          if index == 2 { throw TestError.second }
          return Promises.delay(for: .zero).mapToValue(on: .inline) { 1 }
        }
    },
    Capturing("timeout") { f, t in
      f.timeout(after: .seconds(100)).onSuccess(on: .inline) { _ in t.touch() }
    },
    Capturing("delay") { f, t in
      f.delay(for: .milliseconds(1)).onSuccess(on: .inline) { _ in t.touch() }
    },
    Capturing("combine") { f, t in
      Promises.combine(f, f.mapToValue(on: .inline) { _ in t }).mapToVoid()
    },
    Capturing("collect") { f, t in
      Promises.collect([f.mapToValue(on: .inline) { _ in t }]).mapToVoid()
    },
    Capturing("collect failing fast") { f, t in
      Promises.collect(
        [
          f.mapToValue(on: .inline) { _ in t },
          Promise<Tracked>().mapToValue(on: .inline) { _ in t },
        ],
        failingFast: true
      ).mapToVoid()
    },
    Capturing("race") { f, t in
      (f.mapToValue(on: .inline) { _ in t }
        || f.onSuccess(on: .inline) { _ in t.touch() }
          .mapToValue(on: .inline) { _ in t })
        .mapToVoid()
    },
    Capturing("firstCompleted") { f, t in
      Promises.firstCompleted([
        f.mapToValue(on: .inline) { _ in t },
        Promises.delay(for: .seconds(100)).mapToValue(on: .inline) { t },
      ]).mapToVoid()
    },
    Capturing("shielded") { f, t in f.shielded().onSuccess(on: .inline) { _ in t.touch() } },
  ]
}

@Suite("Lifetime", .timeLimit(.minutes(5)), .oneAtATime)
struct LifetimeTests {
  /// Drives a combinator to its end, and keeps only the promise and the output.
  private func check(
    _ capturing: Capturing, _ end: @Sendable (inout Promise<Int>?, AnyFuture) -> Void
  ) async {
    let tracker = LifetimeTracker()
    var promise: Promise<Int>? = Promise<Int>()
    let output: AnyFuture? = promise.map { capturing.derive($0, tracker.make()) }
    guard let output else { return }
    end(&promise, output)
    #expect(await eventually { output.isFinished && tracker.alive == 0 })
    #expect(tracker.alive == 0)
    withExtendedLifetime((promise, output)) {}
  }

  @Test(.guarantee(6), arguments: Capturing.all)
  func `after a success nothing captured is kept`(_ capturing: Capturing) async {
    await check(capturing) { promise, _ in promise?.succeed(with: 1) }
  }

  @Test(.guarantee(6), arguments: Capturing.all)
  func `after a failure nothing captured is kept`(_ capturing: Capturing) async {
    await check(capturing) { promise, _ in promise?.fail(with: TestError.first) }
  }

  @Test(.guarantee(6), arguments: Capturing.all)
  func `after the cancellation of the input nothing captured is kept`(
    _ capturing: Capturing
  ) async {
    await check(capturing) { promise, _ in promise?.cancel() }
  }

  @Test(.guarantee(6), arguments: Capturing.all)
  func `after the cancellation of the output nothing captured is kept`(
    _ capturing: Capturing
  ) async {
    await check(capturing) { _, output in output.cancel() }
  }

  @Test(.guarantee(6), arguments: Capturing.all)
  func `after the promise was broken nothing captured is kept`(_ capturing: Capturing) async {
    await check(capturing) { promise, _ in promise = nil }
  }

  @Test(arguments: Capturing.all)
  func `a success and the output's cancellation at once keep nothing`(
    _ capturing: Capturing
  ) async {
    let tracker = LifetimeTracker()
    let ended = await RaceHarness(threads: 2, rounds: 30).run { _ -> (Promise<Int>, AnyFuture) in
      let promise = Promise<Int>()
      return (promise, capturing.derive(promise, tracker.make()))
    } act: { pair, thread in
      if thread == 0 { pair.0.succeed(with: 1) } else { pair.1.cancel() }
    }
    #expect(ended)
    #expect(await eventually { tracker.alive == 0 })
    #expect(tracker.alive == 0)
  }

  @Test(arguments: Capturing.all)
  func `the futures of a settled chain go with the last reference`(_ capturing: Capturing) async {
    weak var promise: Promise<Int>?
    weak var output: AnyFuture?
    let tracker = LifetimeTracker()
    do {
      let made = Promise<Int>()
      let derived = capturing.derive(made, tracker.make())
      promise = made
      output = derived
      made.succeed(with: 1)
      #expect(await eventually { derived.isFinished })
    }
    #expect(await eventually { promise == nil && output == nil && tracker.alive == 0 })
  }

  @Test(arguments: Capturing.all)
  func `the futures of an abandoned chain go with the promise`(_ capturing: Capturing) async {
    weak var output: AnyFuture?
    let tracker = LifetimeTracker()
    do {
      let made = Promise<Int>()
      output = capturing.derive(made, tracker.make())
    }
    #expect(await eventually { output == nil && tracker.alive == 0 })
  }

  @Test func `an iterator that cancels the traversal while it is asked keeps nothing`() async {
    final class Canceller: Sequence, IteratorProtocol, @unchecked Sendable {
      let target = Box<AnyFuture?>(nil)
      let tracked: Tracked
      var count = 0
      init(_ tracked: Tracked) { self.tracked = tracked }
      func next() -> Int? {
        count += 1
        if count == 3 { target.value?.cancel() }
        return count < 10 ? count : nil
      }
    }
    let tracker = LifetimeTracker()
    do {
      let sequence = Canceller(tracker.make())
      let gate = Promise<Void>()
      let output = Promises.makeSucceeded(with: sequence)
        .mapElementsToFuture(on: .inline, maxConcurrent: 1) { value in
          gate.mapToValue(on: .inline) { value }
        }
      sequence.target.value = output
      gate.succeed()
      #expect(output.isCancelled)
      sequence.target.value = nil
    }
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test func `a failing element races with the start of the next: nothing is kept`() async {
    let tracker = LifetimeTracker()
    for _ in 0..<300 {
      let tracked = tracker.make()
      let output = Promises.makeSucceeded(with: Array(0..<20))
        .mapElementsToFuture(on: .global()) { index -> Future<Int> in
          tracked.touch()
          if index == 0 { throw TestError.first }
          return Promise<Int>().mapToValue(on: .inline) { _ in
            tracked.touch()
            return 1
          }
        }
      _ = await output.completion
    }
    #expect(await eventually { tracker.alive == 0 })
    #expect(tracker.alive == 0)
  }

  @Test func `cancellation handlers are released with every settlement`() {
    let tracker = LifetimeTracker()
    let promises = Ending.allCases.map { ending -> Promise<Int> in
      let promise = Promise<Int>()
      let tracked = tracker.make()
      promise.onCancellationRequest { tracked.touch() }
      ending.settle(promise)
      return promise
    }
    #expect(tracker.alive == 0)
    #expect(promises.allSatisfy { $0.isFulfilled })
  }

  @Test func `a resolver that is held keeps nothing that was watched for`() {
    let tracker = LifetimeTracker()
    let kept = Box<Resolver<Int>?>(nil)
    let future = Promises.withResolver(promising: Int.self) { resolver in
      let tracked = tracker.make()
      resolver.onCancellationRequest { tracked.touch() }
      kept.value = resolver
    }
    #expect(tracker.alive == 1)
    kept.value?.succeed(with: 1)
    #expect(tracker.alive == 0)
    withExtendedLifetime(future) {}
  }

  @Test func `a cancelled delay releases what its timer would have done`() async {
    let tracker = LifetimeTracker()
    let delay = Promises.delay(for: .seconds(1_000))
    do {
      let tracked = tracker.make()
      delay.onSuccess(on: .inline) { tracked.touch() }
    }
    delay.cancel()
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test func `a delay that nobody holds any more goes when it is cancelled from below`() async {
    weak var delay: Future<Void>?
    do {
      let made = Promises.delay(for: .seconds(1_000))
      delay = made
      made.mapToValue(on: .inline) { 1 }.cancel()
    }
    #expect(await eventually { delay == nil })
  }

  @Test(.guarantee(6)) func `a settled future that is held keeps no custom context`() async {
    weak var gone: ManualContext?
    let future: Future<Int>
    do {
      let context = ManualContext()
      gone = context
      future = Promises.makeSucceeded(with: 1).mapToValue(on: context) { $0 }
      context.runAll()
    }
    #expect(future.result?.successValue == 1)
    #expect(gone == nil)
  }

  @Test func `a value goes with the last future that has it`() {
    let tracker = LifetimeTracker()
    var future: Future<Tracked>? = Promises.makeSucceeded(with: tracker.make())
    var observer = future?.onSuccess(on: .inline) { _ in }
    future = nil
    #expect(tracker.alive == 1)
    withExtendedLifetime(observer) {}
    observer = nil
    #expect(tracker.alive == 0)
  }
}
