import Foundation
import Futures
import TestSupport
import Testing

/// What is made of several futures, which settle in an order that a seed
/// decides, against an oracle that reads the same order.
@Suite("Seeded schedules of joins", .timeLimit(.minutes(5)), .oneAtATime)
struct SeededJoinTests {
  private enum End: Equatable { case value(Int), failure(Int), cancelled }

  /// Inputs, the order in which they settle, and how.
  private struct Inputs {
    let promises: [Promise<Int>]
    let order: [Int]
    let ends: [End]

    init(_ generator: inout SeededGenerator) {
      let count = Int.random(in: 0...6, using: &generator)
      promises = (0..<count).map { _ in Promise<Int>() }
      order = promises.indices.shuffled(using: &generator)
      ends = promises.indices.map { index in
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: .failure(index)
        case 1: .cancelled
        default: .value(index)
        }
      }
    }

    /// Settles the next one; somebody may have cancelled it.
    func settle(_ index: Int) {
      switch ends[index] {
      case .value(let value): promises[index].succeed(with: value)
      case .failure(let number): promises[index].fail(with: TestError.numbered(number))
      case .cancelled: promises[index].cancel()
      }
    }

    func error(at index: Int) -> (any Error)? {
      switch ends[index] {
      case .value: nil
      case .failure(let number): TestError.numbered(number)
      case .cancelled: ProperationsError.cancelled
      }
    }

    var errors: [(any Error)?] { ends.indices.map { error(at: $0) } }
    var firstToSucceed: Int? { order.first { if case .value = ends[$0] { true } else { false } } }
    var firstToFail: Int? { order.first { if case .value = ends[$0] { false } else { true } } }
  }

  private func isSame(_ error: (any Error)?, _ other: (any Error)?) -> Bool {
    switch (error, other) {
    case (nil, nil): true
    case (let a as TestError, let b as TestError): a == b
    case (let a as ProperationsError, let b as ProperationsError): a == b
    default: false
    }
  }

  @Test func `collect gives every value in the order of the inputs, or every error at its place`()
    async
  {
    await SeededSchedules.play("SeededJoinTests") { generator in
      let inputs = Inputs(&generator)
      let all = Promises.collect(inputs.promises)
      let results = Promises.collectResults(inputs.promises)
      for index in inputs.order {
        if all.isFulfilled || results.isFulfilled { return "settled before the last input" }
        inputs.settle(index)
      }
      let values = inputs.ends.indices.map { $0 }
      if inputs.firstToFail == nil {
        if all.result?.successValue != values { return "collected \(all)" }
      } else if !isSame(all.result?.failureValue, ProperationsError.multipleErrors(inputs.errors)) {
        return "failed with \(String(describing: all.result))"
      }
      guard let outcomes = results.result?.successValue, outcomes.count == values.count else {
        return "the outcomes are \(String(describing: results.result))"
      }
      for (index, outcome) in outcomes.enumerated() {
        if !isSame(outcome.failureValue, inputs.error(at: index)) { return "outcome \(index)" }
        if outcome.isSuccess, outcome.successValue != index { return "value \(index)" }
      }
      return nil
    }
  }

  @Test func `collect that fails fast settles with the first failure and cancels the rest`() async {
    await SeededSchedules.play("SeededJoinTests") { generator in
      let inputs = Inputs(&generator)
      let all = Promises.collect(inputs.promises, failingFast: true)
      for (place, index) in inputs.order.enumerated() {
        inputs.settle(index)
        guard index == inputs.firstToFail else { continue }
        if !isSame(all.result?.failureValue, inputs.error(at: index)) { return "not at once" }
        for later in inputs.order.dropFirst(place + 1)
        where !inputs.promises[later].isCancelled {
          return "input \(later) was not cancelled"
        }
      }
      if inputs.firstToFail == nil, all.result?.successValue != Array(inputs.ends.indices) {
        return "collected \(all)"
      }
      return nil
    }
  }

  @Test func `a race is won by the first that succeeds, and its losers are cancelled or left`()
    async
  {
    await SeededSchedules.play("SeededJoinTests") { generator in
      let inputs = Inputs(&generator)
      let cancelsLosers = Bool.random(using: &generator)
      let race = Promises.race(inputs.promises, cancellingLosers: cancelsLosers)
      for (place, index) in inputs.order.enumerated() {
        inputs.settle(index)
        guard index == inputs.firstToSucceed else { continue }
        if race.result?.successValue != index { return "won by \(race), not by \(index)" }
        for later in inputs.order.dropFirst(place + 1)
        where inputs.promises[later].isCancelled != cancelsLosers {
          return "loser \(later) was cancelled: \(!cancelsLosers)"
        }
      }
      if inputs.firstToSucceed != nil { return nil }
      let expected: ProperationsError =
        inputs.promises.isEmpty ? .noFutures : .multipleErrors(inputs.errors)
      return isSame(race.result?.failureValue, expected)
        ? nil : "failed with \(String(describing: race.result))"
    }
  }

  @Test func `firstCompleted settles like the very first`() async {
    await SeededSchedules.play("SeededJoinTests") { generator in
      let inputs = Inputs(&generator)
      let first = Promises.firstCompleted(inputs.promises)
      guard let winner = inputs.order.first else {
        return isSame(first.result?.failureValue, ProperationsError.noFutures)
          ? nil : "a race of nobody: \(first)"
      }
      if first.isFulfilled { return "settled before its inputs" }
      inputs.settle(winner)
      if !isSame(first.result?.failureValue, inputs.error(at: winner)) { return "like another" }
      if case .value(let value) = inputs.ends[winner], first.result?.successValue != value {
        return "with another's value"
      }
      return nil
    }
  }

  @Test func `elements become futures, so many at a time, and their values keep their places`()
    async
  {
    await SeededSchedules.play("SeededJoinTests") { generator in
      let count = Int.random(in: 0...8, using: &generator)
      let limit = Int.random(in: 1...4, using: &generator)
      let context = ManualContext()
      let failing = Int.random(in: 0..<3, using: &generator) == 0
      let open = Box<[(index: Int, promise: Promise<Int>)]>([])
      let started = Counter()
      let all = Promises.makeSucceeded(with: Array(0..<count))
        .mapElementsToFuture(on: context, maxConcurrent: limit) { index in
          started.add()
          let promise = Promise<Int>()
          open.value.append((index, promise))
          return promise
        }
      var hasFailed = false
      while true {
        if Bool.random(using: &generator) || open.value.isEmpty {
          if context.runOne(using: &generator) {
            if open.value.count > limit { return "\(open.value.count) at once, not \(limit)" }
            continue
          }
          if open.value.isEmpty { break }
        }
        let place = Int.random(in: 0..<open.value.count, using: &generator)
        let (index, promise) = open.value.remove(at: place)
        if failing, !hasFailed, index == count / 2 {
          hasFailed = true
          promise.fail(with: TestError.numbered(index))
        } else {
          promise.succeed(with: index * 10)
        }
      }
      if !all.isFinished { return "never finished" }
      if hasFailed { return all.result?.isFailure == true ? nil : "a failure was lost" }
      if started.value != count { return "\(started.value) of \(count) were started" }
      return all.result?.successValue == (0..<count).map { $0 * 10 } ? nil : "collected \(all)"
    }
  }
}
