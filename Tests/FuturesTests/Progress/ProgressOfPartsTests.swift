import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("Progress of parts", .timeLimit(.minutes(5)), .oneAtATime)
struct ProgressOfPartsTests {
  // MARK: Traversals

  @Test func `a traversal of a collection has the mean of its elements`() {
    let gates = (0..<4).map { _ in Promise<Int>() }
    let all = Promises.traverse(0..<4, on: .inline, maxConcurrent: 2) { gates[$0] }
    #expect(all.currentProgress.isIndeterminate)
    gates[0].report(completed: 1, of: 2)
    #expect(all.currentProgress.fractionCompleted == 0.125)
    gates[0].succeed(with: 0)
    #expect(all.currentProgress.fractionCompleted == 0.25)
    gates[1].succeed(with: 1)
    gates[2].report(completed: 1, of: 2)
    #expect(all.currentProgress.fractionCompleted == 0.625)
    gates[2].succeed(with: 2)
    gates[3].succeed(with: 3)
    #expect(all.currentProgress.fractionCompleted == 1)
  }

  @Test func `elements that fail are complete while the others go on`() {
    let gates = (0..<2).map { _ in Promise<Int>() }
    let all = Promises.traverse(0..<2, on: .inline, failingFast: false) { gates[$0] }
    gates[0].fail(with: TestError.first)
    #expect(all.currentProgress.fractionCompleted == 0.5)
    gates[1].succeed(with: 1)
    #expect(all.error != nil && all.currentProgress.isIndeterminate)
  }

  @Test func `a sequence that does not know its count is indeterminate, and is not walked`() {
    let taken = Counter()
    let elements = (0..<4).lazy.filter { _ in
      taken.add()
      return true
    }
    let gates = (0..<4).map { _ in Promise<Int>() }
    let all = Promises.traverse(elements, on: .inline, maxConcurrent: 1) { gates[$0] }
    gates[0].succeed(with: 0)
    #expect(all.currentProgress.isIndeterminate)
    #expect(taken.value == 2)
    for gate in gates { gate.cancel() }
  }

  @Test func `a collection with more elements than it says is never above 1`() {
    let gates = (0..<4).map { _ in Promise<Int>() }
    let all = Promises.traverse(Liar(), on: .inline) { gates[$0] }
    for gate in gates.dropLast() {
      gate.succeed(with: 1)
      #expect(all.currentProgress.fractionCompleted < 1)
    }
    gates[3].succeed(with: 1)
    #expect(all.currentProgress.fractionCompleted == 1)
  }

  @Test func `each element of a traversal far upstream is seen`() async {
    let gates = (0..<8).map { _ in Promise<Int>() }
    let end = Promises.traverse(0..<8, on: .inline, maxConcurrent: 1) { gates[$0] }
      .mapToValue(on: .inline) { $0.count }
    var updates = end.progressUpdates.makeAsyncIterator()
    #expect(await updates.next()?.isIndeterminate == true)
    for (index, gate) in gates.enumerated() {
      gate.report(completed: 1, of: 2)
      #expect(await updates.next()?.fractionCompleted == (Double(index) + 0.5) / 8)
      gate.succeed(with: index)
      #expect(await updates.next()?.fractionCompleted == Double(index + 1) / 8)
    }
    #expect(await updates.next() == nil)
  }

  @Test func `mapElementsToFuture is the second half, after its source`() {
    let source = Promise<[Int]>()
    let gates = (0..<2).map { _ in Promise<Int>() }
    let all = source.mapElementsToFuture(on: .inline) { gates[$0] }
    source.report(completed: 1, of: 2)
    #expect(all.currentProgress.fractionCompleted == 0.25)
    source.succeed(with: [0, 1])
    #expect(all.currentProgress.fractionCompleted == 0.5)
    gates[1].succeed(with: 1)
    #expect(all.currentProgress.fractionCompleted == 0.75)
    gates[0].succeed(with: 0)
    #expect(all.currentProgress.fractionCompleted == 1)
  }

  @Test func `four times the elements take at most four times the visits`() {
    func visits(count: Int) -> Int {
      let gates = (0..<count).map { _ in Promise<Int>() }
      let all = Promises.traverse(0..<count, on: .inline) { gates[$0] }
      let visits = ProgressWalk(from: all).visits
      for gate in gates { gate.cancel() }
      return visits
    }
    let (small, large) = (visits(count: 100), visits(count: 400))
    #expect(small > 100 && large <= 4 * small)
  }

  // MARK: Weights

  @Test func `an input with a weight counts that much`() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let inputs = [
      promises[0].withProgressWeight(6), promises[1].withProgressWeight(0), promises[2],
    ]
    let joins: [AnyFuture] = [
      Promises.collect(inputs), Promises.collectResults(inputs),
      Promises.combine(inputs[0], inputs[1], inputs[2]),
    ]
    promises[0].report(completed: 1, of: 2)
    promises[1].report(completed: 1, of: 2)
    for join in joins { #expect(abs(join.currentProgress.fractionCompleted - 3 / 7) < 1e-9) }
    promises[0].succeed(with: 1)
    for join in joins { #expect(abs(join.currentProgress.fractionCompleted - 6 / 7) < 1e-9) }
    promises[1].succeed(with: 1)
    promises[2].succeed(with: 1)
    for join in joins { #expect(join.currentProgress.fractionCompleted == 1) }
  }

  @Test(
    arguments: [
      (-1, 0), (.nan, 0.25), (.infinity, 0.5), (0, 0), (-.infinity, 0), (.leastNonzeroMagnitude, 0),
      (.greatestFiniteMagnitude, 0.5),
    ] as [(Double, Double)])
  func `hostile weights are clamped`(_ weight: Double, _ fraction: Double) {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let all = promises[0].withProgressWeight(weight).and(promises[1])
    promises[0].report(completed: 1, of: 2)
    #expect(abs(all.currentProgress.fractionCompleted - fraction) < 1e-9)
    for promise in promises { promise.cancel() }
  }

  @Test func `all inputs weigh nothing: indeterminate until the end`() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let all = Promises.collect(promises.map { $0.withProgressWeight(0) })
    promises[0].succeed(with: 1)
    #expect(all.currentProgress.isIndeterminate)
    promises[1].succeed(with: 1)
    #expect(all.currentProgress.fractionCompleted == 1)
  }

  @Test func `a future with a weight passes values, errors and cancellation on`() {
    #expect(Promises.makeSucceeded(with: 1).withProgressWeight(2).result?.successValue == 1)
    let promise = Promise<Int>()
    let weighted = promise.withProgressWeight(2)
    weighted.cancel()
    #expect(promise.isCancelled)
    let failed: Future<Int> = Promises.makeFailed(with: TestError.first)
    #expect(failed.withProgressWeight(3).error as? TestError == .first)
  }

  // MARK: Work that begins in a place

  @Test func `a lazy future has the progress of the future that its closure returns`() {
    let inner = Promise<Int>()
    let lazy = Promises.lazy(on: .inline) { inner }
    #expect(lazy.currentProgress.isIndeterminate)
    let end = lazy.mapToValue(on: .inline) { $0 }
    #expect(end.currentProgress.isIndeterminate)
    inner.report(completed: 1, of: 4)
    #expect(end.currentProgress.completed == 1)
    inner.succeed(with: 1)
    #expect(end.currentProgress.fractionCompleted == 1)
  }

  @Test func `work in a permit has the progress of its future, and waiting counts as nothing`() {
    let permits = Permits(1)
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let holder = permits.withPermit(on: .inline) { first }
    let waiting = permits.withPermit(on: .inline) { second }
    second.report(completed: 1, of: 2)
    #expect(holder.currentProgress.isIndeterminate && waiting.currentProgress.isIndeterminate)
    first.report(completed: 3, of: 4)
    #expect(holder.currentProgress.fractionCompleted == 0.75)
    first.succeed(with: 1)
    #expect(waiting.currentProgress.fractionCompleted == 0.5)
    second.succeed(with: 1)
  }

  @Test func `a retry has the progress of the attempt that runs, and waiting counts as nothing`()
    async
  {
    let clock = ManualClock()
    let attempts = [Promise<Int>(), Promise<Int>()]
    let policy = RetryPolicy(attempts: 2, delay: .constant(.seconds(1)), clock: clock)
    let future = Promises.retry(policy, on: .inline) { attempts[$0 - 1] }
    #expect(future.currentProgress.isIndeterminate)
    attempts[0].report(completed: 3, of: 4)
    #expect(future.currentProgress.completed == 3)
    attempts[0].fail(with: TestError.first)
    #expect(future.currentProgress.isIndeterminate)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    #expect(await eventually { attempts[1].hasWaiters })
    attempts[1].report(completed: 1, of: 4)
    // (The thread that starts the attempt may still be about to make it the current one.)
    #expect(await eventually { future.currentProgress.fractionCompleted == 0.25 })
    attempts[1].succeed(with: 1)
    #expect(await eventually { future.currentProgress.fractionCompleted == 1 })
  }

  @Test func `the closure of an attempt runs: nothing is known of the progress yet`() async throws {
    let (begun, mayEnd) = (Event(), Event())
    let future = Promises.retry(attempts: 2, on: OperationQueue()) { _ in
      begun.signal()
      mayEnd.wait()
      return Promises.makeSucceeded(with: 1)
    }
    #expect(await begun.opened())
    #expect(future.currentProgress.isIndeterminate)
    mayEnd.signal()
    #expect(try await future.value == 1)
    #expect(future.currentProgress.fractionCompleted == 1)
  }

  // MARK: Foundation's Progress

  @Test func `a Progress is read again and again until the promise has settled`() async {
    let clock = ManualClock()
    let promise = Promise<Int>()
    let progress = Progress(totalUnitCount: 4)
    promise.report(from: progress, every: .seconds(1), clock: clock)
    for step in 1...3 {
      progress.completedUnitCount = Int64(step)
      #expect(await eventually { clock.sleeping == 1 })
      #expect(promise.currentProgress.completed == Int64(step) - 1)
      clock.advance(by: .seconds(1))
      #expect(await eventually { promise.currentProgress.completed == Int64(step) })
    }
    #expect(await eventually { clock.sleeping == 1 })
    promise.succeed(with: 1)
    clock.advance(by: .seconds(1))
    #expect(clock.sleeping == 0)
    promise.report(from: progress, every: .seconds(1), clock: clock)
    #expect(clock.sleeping == 0)
  }

  @Test func `a promise that is dropped while a Progress is read is broken`() async {
    let clock = ManualClock()
    var promise: Promise<Int>? = Promise<Int>()
    let end = promise?.mapToValue(on: .inline) { $0 }
    promise?.report(from: Progress(totalUnitCount: 1), every: .zero, clock: clock)
    #expect(await eventually { clock.sleeping == 1 })
    promise = nil
    #expect(end?.error != nil)
    clock.advance(by: .milliseconds(1))
    #expect(clock.sleeping == 0)
  }

  @Test func `a closure that makes a future waits for another one: its source is half of the work`()
    async throws
  {
    let (gate, begun) = (Promise<Int>(), Event())
    let future = Promises.makeSucceeded(with: 1).mapToFuture(on: .global()) { number in
      begun.signal()
      return Promises.makeSucceeded(with: try gate.wait(timeout: Event.patience) + number)
    }
    #expect(await begun.opened())
    #expect(await eventually { gate.hasWaiters })
    #expect(future.currentProgress.fractionCompleted == 0.5)
    gate.succeed(with: 1)
    #expect(try await future.value == 2)
  }
}

/// A collection that has more elements than it says.
private struct Liar: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { 4 }
  var count: Int { 2 }
  subscript(position: Int) -> Int { position }
}
