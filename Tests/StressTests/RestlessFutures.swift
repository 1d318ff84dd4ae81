import Foundation
import Properations
import TestSupport

/// Promises, futures made of them, and what a thread may do with them.
struct RestlessFutures {
  let pool = OperationQueue()
  let serial = OperationQueue()
  var promises: [Promise<Int>] = []
  var all: [Future<Int>] = []

  init(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
    serial.maxConcurrentOperationCount = 1
    for _ in 0..<4 { promises.append(promise(&generator, tracker)) }
    all = promises
    for _ in 0..<12 { grow(&generator, tracker) }
  }

  private func promise(
    _ generator: inout SeededGenerator, _ tracker: LifetimeTracker
  ) -> Promise<Int> {
    let object = tracker.make()
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: return Promises.make(promising: Int.self)
    case 1: return Promises.make(promising: Int.self, in: pool)
    case 2:
      return Promises.makeBlocking(in: serial, promising: Int.self) { promise in
        object.touch()
        promise.succeed(with: 1)
      }
    default:
      return Promises.makeBlocking(in: serial, promising: Int.self) { promise in
        later {
          object.touch()
          promise.succeed(with: 3)
        }
      }
    }
  }

  /// Adds a future that is made of others.
  private mutating func grow(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
    let first = all[Int.random(in: all.indices, using: &generator)]
    let second = all[Int.random(in: all.indices, using: &generator)]
    let object = tracker.make()
    switch Int.random(in: 0..<17, using: &generator) {
    case 0:
      all.append(
        first.mapToValue(on: .inline) { value in
          object.touch()
          return value + 1
        })
    case 1:
      all.append(
        first.mapToValue(on: .global()) { value in
          object.touch()
          if value % 3 == 0 { throw TestError.first }
          return value
        })
    case 2:
      all.append(
        first.mapToFuture(on: .inline) { _ in
          object.touch()
          return second
        })
    case 3:
      all.append(
        first.mapToFuture(on: pool) { value in
          let promise = Promises.make(promising: Int.self)
          later {
            object.touch()
            promise.succeed(with: value)
          }
          return promise
        })
    case 4:
      all.append(
        first.recover(on: pool) { _ in
          object.touch()
          return 7
        })
    case 5:
      all.append(
        first.recover(on: .inline) { _ in
          object.touch()
          throw TestError.second
        })
    case 6: all.append(first || second)
    case 7: all.append(Promises.combine(first, second).mapToValue(on: .inline) { $0 + $1 })
    case 8:
      all.append(
        first.mapToValue(on: serial) { value in
          object.touch()
          return value
        })
    case 9: first.onSuccess(on: .global()) { _ in object.touch() }
    case 10: first.onCompletion(on: pool) { _ in object.touch() }
    case 11: all.append(first.timeout(after: .milliseconds(1)))
    case 12:
      let operation = BlockOperation { object.touch() }
      operation.addDependency(first)
      all.append(operation.future.mapToValue(on: .inline) { 4 })
      pool.addOperation(operation)
    case 13: first.cancel(onFailureOf: second)
    case 14:
      all.append(
        pool.run {
          object.touch()
          return 5
        })
    case 15:
      let promise = Promises.make(promising: Int.self)
      all.append(promise)
      promise.fulfill(from: first)
    default: all.append(first.shielded())
    }
  }

  func act(_ generator: inout SeededGenerator) {
    let promise = promises[Int.random(in: promises.indices, using: &generator)]
    let future = all[Int.random(in: all.indices, using: &generator)]
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<5: promise.succeed(with: Int.random(in: 0..<10, using: &generator))
    case 5, 6: promise.fail(with: TestError.first)
    case 7..<10: future.cancel()
    case 10, 11: _ = future.debugDescription
    case 12, 13: future.onSuccess(on: .inline) { _ in }
    case 14, 15: _ = future.mapToValue(on: .inline) { $0 }
    case 16, 17: Task { _ = try? await future.value }
    case 18: pool.cancelAllOperations()
    default: serial.cancelAllOperations()
    }
  }
}
