import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// Everything that takes a count takes time in proportion to it.
///
/// Each test compares the time for a size with that for four times the size.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthTests {
  /// Between 4, which is in proportion, and 16, which is quadratic.
  private static let bound = 8.0

  /// How something grows, measured on a thread of its own.
  private static func ratio(
    from start: Int = 64, _ body: @escaping @Sendable (Int) -> () -> Void
  ) async throws -> Double {
    try await Growth.ratioOnSmallStack(from: start, below: bound, of: body)
  }

  @Test func `dependencies of one future, added and then finished`() async throws {
    let ratio = try await Self.ratio { count in
      let operations = (0..<count).map { _ in Promise<Void>() }
      return {
        let promise = Promise<Void>()
        let link = promise.mapToValue(on: .inline) { 1 }
        for operation in operations { link.addDependency(operation) }
        promise.succeed()
        for operation in operations { operation.succeed() }
        precondition(link.isFulfilled)
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `plain operations as dependencies of one future, added and then finished`()
    async throws
  {
    let ratio = try await Self.ratio { count in
      let operations = (0..<count).map { _ in BlockOperation {} }
      return {
        let promise = Promise<Void>()
        let link = promise.mapToValue(on: .inline) { 1 }
        for operation in operations { link.addDependency(operation) }
        promise.succeed()
        for operation in operations { operation.start() }
        precondition(link.isFulfilled)
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `async closures of a queue that wait for a dependency`() async throws {
    let ratio = try await Self.ratio { count in
      let queue = OperationQueue()
      return {
        let promise = Promise<Void>()
        let all = (0..<count).map { _ in queue.run(after: promise) { () async in } }
        promise.succeed()
        queue.waitUntilAllOperationsAreFinished()
        precondition(all.allSatisfy(\.isSettled))
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `async closures of a queue with a limit that await one future`() async throws {
    let ratio = await Growth.leastRatio(below: Growth.doubledBound) { factor in
      var times: [Double] = []
      for count in [2_000 * factor, 4_000 * factor] {
        let (queue, promise, waiting) = (OperationQueue(), Promise<Void>(), Counter())
        queue.maxConcurrentOperationCount = 100_000
        let all = (0..<count).map { _ in
          queue.run { () async throws in
            waiting.add()
            try await promise.value
          }
        }
        _ = await eventually { waiting.value == count }
        let clock = ContinuousClock()
        let time = await clock.measure {
          promise.succeed()
          for future in all { _ = await future.completion }
        }
        times.append(time / .seconds(1))
      }
      return times[1] / times[0]
    }
    #expect(ratio < Growth.doubledBound)
  }

  @Test func `dependencies of one future, added and then removed`() async throws {
    let ratio = try await Self.ratio { count in
      let operations = (0..<count).map { _ in Promise<Void>() }
      return {
        let promise = Promise<Void>()
        let link = promise.mapToValue(on: .inline) { 1 }
        for operation in operations { link.addDependency(operation) }
        for operation in operations { link.removeDependency(operation) }
        promise.succeed()
        precondition(link.isFulfilled)
        for operation in operations { operation.cancel() }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `futures in a row that depend on each other`() async throws {
    let ratio = try await Self.ratio { count in
      {
        let gate = Promise<Void>()
        var row = [gate.mapToValue(on: .inline) { 0 }]
        for number in 1..<count {
          let next = gate.mapToValue(on: .inline) { number }
          next.addDependency(row[number - 1])
          row.append(next)
        }
        gate.succeed()
        precondition(row.allSatisfy { $0.isFinished })
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `promises in a row that depend on each other`() async throws {
    let ratio = try await Self.ratio { count in
      {
        let row = (0..<count).map { _ in Promise<Void>() }
        for number in 1..<count { row[number].addDependency(row[number - 1]) }
        for promise in row { promise.succeed() }
        precondition(row.allSatisfy { $0.isFinished })
      }
    }
    #expect(ratio < Self.bound)
  }

  /// In which order promises are linked to one another.
  enum LinkOrder: CaseIterable { case fromTheValue, towardsTheValue }

  @Test(arguments: LinkOrder.allCases)
  func `promises linked in a row`(_ order: LinkOrder) async throws {
    let ratio = try await Self.ratio { count in
      {
        let row = (0..<count).map { _ in Promise<Int>() }
        let numbers = order == .fromTheValue ? Array(1..<count) : (1..<count).reversed()
        for number in numbers { row[number].fulfill(from: row[number - 1]) }
        row[0].succeed(with: 1)
        precondition(row[count - 1].result?.successValue == 1)
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test(arguments: LinkOrder.allCases)
  func `promises that have consumers, linked in a row`(_ order: LinkOrder) async throws {
    let ratio = try await Self.ratio { count in
      {
        let row = (0..<count).map { _ in Promise<Int>() }
        let consumers = row.map { promise in promise.mapToValue(on: .inline) { $0 } }
        let numbers = order == .fromTheValue ? Array(1..<count) : (1..<count).reversed()
        for number in numbers { row[number].fulfill(from: row[number - 1]) }
        row[0].succeed(with: 1)
        precondition(consumers.allSatisfy { $0.result?.successValue == 1 })
      }
    }
    #expect(ratio < Self.bound)
  }

  /// How a chain of `||` is written.
  enum Nesting: CaseIterable { case left, right }

  // (What is quadratic here is fast: only a large size shows it.)
  @Test(arguments: Nesting.allCases, [true, false])
  func `alternatives joined by the operator of races`(_ nesting: Nesting, isWon: Bool) async throws
  {
    let ratio = try await Self.ratio(from: 4_096) { count in
      {
        let promises = (0..<count).map { _ in Promise<Int>() }
        var race: Future<Int> = promises[0]
        for promise in promises.dropFirst() {
          race = nesting == .left ? race || promise : promise || race
        }
        if isWon {
          promises[count / 2].succeed(with: 1)
        } else {
          for promise in promises { promise.fail(with: TestError.first) }
        }
        precondition(race.isFulfilled)
      }
    }
    #expect(ratio < Self.bound)
  }
}
