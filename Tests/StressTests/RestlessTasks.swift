import Foundation
import Properations
import TestSupport

/// Typed tasks, stages made of them, and what a thread may do with them.
struct RestlessTasks {
  typealias Stage = ProducerTask<Int, TestError>

  let queues = [
    TaskQueue(), TaskQueue(maxConcurrentTaskCount: 1), TaskQueue(maxConcurrentTaskCount: 2),
  ]
  var all: [Stage] = []

  init(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
    for number in 0..<5 { all.append(source(number, &generator, tracker)) }
    for _ in 0..<10 { grow(&generator, tracker) }
  }

  private func source(
    _ number: Int, _ generator: inout SeededGenerator, _ tracker: LifetimeTracker
  ) -> Stage {
    let object = tracker.make()
    let kind = Int.random(in: 0..<5, using: &generator)
    let task: Stage = BlockProducerTask { _, finish in
      object.touch()
      switch kind {
      case 0, 1: finish(.success(number))
      case 2: finish(.failure(.provided(.first)))
      case 3: later { finish(.success(number)) }
      default: later { finish(.failure(.provided(.second))) }
      }
    }
    switch Int.random(in: 0..<6, using: &generator) {
    case 0:
      task.addCondition(
        BlockCondition(evaluate: { _, completion in later { completion(.success) } }))
    case 1: task.addCondition(Conditions.MutuallyExclusive<Int>())
    case 2: task.addObserver(Observers.Timeout(.milliseconds(1)))
    default: break
    }
    return task
  }

  private mutating func grow(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
    let first = all[Int.random(in: all.indices, using: &generator)]
    let second = all[Int.random(in: all.indices, using: &generator)]
    let object = tracker.make()
    switch Int.random(in: 0..<15, using: &generator) {
    case 0:
      all.append(
        first.map { value in
          object.touch()
          return value + 1
        })
    case 1:
      all.append(
        first.flatMap { value in
          BlockProducerTask<Int, TestError> { _, finish in
            later {
              object.touch()
              finish(.success(value))
            }
          }
        })
    case 2 where first !== second: all.append(first.zip(second).map { $0 + $1 })
    case 3:
      all.append(
        first.catch { _ -> Stage in
          object.touch()
          return Tasks.just(1)
        })
    case 4:
      all.append(
        first.retry(attempts: 3) { _ -> Stage in
          object.touch()
          return BlockProducerTask { _, finish in finish(.failure(.provided(.first))) }
        })
    case 5: all.append(first.timeout(after: .milliseconds(1)))
    case 6: all.append(first.share())
    case 7 where first !== second: all.append(first.firstOf(second))
    case 8: all.append(first.delay(for: .microseconds(100)))
    case 9: first.receive { _ in object.touch() }
    case 10: first.addDependency(second)
    case 11:
      let member: Stage = BlockProducerTask { _, finish in
        object.touch()
        finish(.success(6))
      }
      all.append(GroupProducerTask(tasks: (first, member), produced: member))
    case 12: all.append(GroupProducerTask(tasks: (first, second), produced: second))
    case 13:
      let consumer = BlockConsumerTask<Int, TestError>(producing: first) { _, _, finish in
        object.touch()
        finish(.success)
      }
      all.append(consumer.map { 7 })
    default: all.append(first.filter { $0 > 1 })
    }
  }

  func act(_ generator: inout SeededGenerator) {
    let task = all[Int.random(in: all.indices, using: &generator)]
    let queue = queues[Int.random(in: queues.indices, using: &generator)]
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<10: queue.addTask(task)
    case 10..<13: task.cancel()
    case 13, 14: _ = task.debugDescription
    case 15, 16: Task { _ = try? await task.value }
    case 17: queue.cancelAllTasks()
    default: _ = task.map { $0 }
    }
  }
}
