import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

@Suite("Promises.select", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesSelectingTests {
  private let promises = (0..<4).map { _ in Promise<Int>() }

  @Test func `the first that settles is selected, and the others are handed over in order`() {
    let selected = Promises.select(promises)
    #expect(!selected.isFulfilled)
    promises[2].succeed(with: 7)
    let selection = selected.result?.successValue
    #expect(selection?.index == 2)
    #expect(selection?.result.successValue == 7)
    #expect(
      selection?.rest.map { ObjectIdentifier($0) }
        == [0, 1, 3].map { ObjectIdentifier(promises[$0]) })
    promises[0].succeed(with: 1)
    #expect(selected.result?.successValue?.index == 2)
    #expect(!promises[1].isCancelled && !promises[3].isCancelled)
  }

  @Test func `a failure is a selection`() {
    let selected = Promises.select(promises)
    promises[1].fail(with: TestError.first)
    #expect(selected.result?.successValue?.index == 1)
    #expect(selected.result?.successValue?.result.failureValue as? TestError == .first)
    #expect(selected.result?.successValue?.rest.count == 3)
  }

  @Test func `a cancellation is a selection`() {
    let selected = Promises.select(promises)
    promises[3].cancel()
    #expect(selected.result?.successValue?.index == 3)
    #expect(selected.result?.successValue?.result.failureValue?.isCancellation == true)
  }

  @Test func `of settled futures the first in order is selected`() {
    promises[1].succeed(with: 1)
    promises[2].succeed(with: 2)
    let selected = Promises.select(promises)
    #expect(selected.result?.successValue?.index == 1)
    #expect(selected.result?.successValue?.rest.count == 3)
  }

  @Test func `no future is an error that says so`() {
    let selected = Promises.select([Future<Int>]())
    #expect(selected.error as? ProperationsError == .noFutures)
  }

  @Test func `cancelling leaves the futures as they are`() {
    let futures = promises.map { $0.mapToValue(on: .inline) { $0 } }
    let selected = Promises.select(futures)
    selected.cancel()
    #expect(selected.isCancelled)
    #expect(futures.allSatisfy { !$0.isCancelled })
    promises[0].succeed(with: 1)
    #expect(futures[0].result?.successValue == 1)
  }

  @Test func `selecting from the rest goes through all results`() throws {
    var rest: [Future<Int>] = promises
    var values: [Int] = []
    while !rest.isEmpty {
      let selected = Promises.select(rest)
      try #require(promises.first { !$0.isFulfilled }).succeed(with: rest.count)
      let selection = try #require(selected.result?.successValue)
      values.append(try #require(selection.result.successValue))
      rest = selection.rest
    }
    #expect(values == [4, 3, 2, 1])
  }

  @Test func `the same future twice is selected once and handed over once`() {
    let selected = Promises.select([promises[0], promises[0]])
    promises[0].succeed(with: 1)
    #expect(selected.result?.successValue?.index == 0)
    #expect(selected.result?.successValue?.rest.map(\.isFulfilled) == [true])
  }

  @Test func `a dropped promise is selected as broken`() {
    let selected = Promises.select([Promise<Int>(), promises[0]])
    #expect(selected.result?.successValue?.index == 0)
    guard
      case .brokenPromise? = selected.result?.successValue?.result.failureValue
        as? ProperationsError
    else {
      Issue.record("\(selected)")
      return
    }
  }

  @Test func `re-entrant: a closure of the selection settles the others`() {
    let selected = Promises.select(promises).onSuccess(on: .inline) { selection in
      for case let promise as Promise<Int> in selection.rest { promise.succeed(with: 9) }
    }
    promises[0].succeed(with: 1)
    #expect(promises.allSatisfy { $0.isFulfilled })
    #expect(selected.result?.successValue?.index == 0)
  }

  @Test func `futures that settle on many threads select exactly one`() async {
    let harness = RaceHarness(threads: 4, rounds: 2_000)
    let wrong = Counter()
    let isDone = await harness.run { _ -> ([Promise<Int>], Future<FutureSelection<Int>>) in
      let promises = (0..<4).map { _ in Promise<Int>() }
      return (promises, Promises.select(promises))
    } act: { subject, thread in
      subject.0[thread].succeed(with: thread)
    } check: { subject, _ in
      guard let selection = subject.1.result?.successValue,
        selection.result.successValue == selection.index, selection.rest.count == 3,
        !selection.rest.contains(where: { $0 === subject.0[selection.index] })
      else {
        wrong.add()
        return
      }
    }
    #expect(isDone)
    #expect(wrong.value == 0)
  }

  @Test func `nothing is kept when the selection is released`() async throws {
    try await expectReleased { tracker in
      let promises = (0..<3).map { _ in Promise<Int>() }
      for promise in promises { tracker.track(promise) }
      let selected = Promises.select(promises)
      tracker.track(selected)
      promises[1].succeed(with: 1)
    }
  }
}
