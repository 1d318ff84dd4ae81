import Foundation
import Properations
import TestSupport

/// Typed tasks, stages made of them, and what a thread may do with them.
struct RestlessTasks {
  typealias Stage = ProducerTask<Int, TestError>

  let queues = [
    TaskQueue(), TaskQueue(maxConcurrentTaskCount: 1), TaskQueue(maxConcurrentTaskCount: 2),
  ]
  /// A queue for tasks that only the acts make.
  let segmented = TaskQueue(maxConcurrentTaskCount: 2)
  var all: [Stage] = []
  /// How many tasks of the category work.
  let working = Counter()
  private let tracker: LifetimeTracker
  /// Whether the tasks of ``all`` are cancelled in the end, or have to end by themselves.
  ///
  /// A dependency on a task behind a barrier never ends by itself, so there are no barriers
  /// among these tasks in the second case.
  private let endsByCancelling: Bool

  init(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
    self.tracker = tracker
    endsByCancelling = .random(using: &generator)
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
    case 1: return exclusive(failing: kind == 0)
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
    let task = all.randomElement(using: &generator)!
    let queue = queues.randomElement(using: &generator)!
    switch Int.random(in: 0..<32, using: &generator) {
    case 0..<9: queue.addTask(task)
    case 9..<12: task.cancel()
    case 12: _ = task.debugDescription
    case 13: _ = queue.debugDescription
    case 14, 15: Task { _ = try? await task.value }
    case 16: queue.cancelAllTasks()
    case 17: _ = task.map { $0 }
    // It may make a circle: then a task of the circle fails.
    case 18, 19: task.addDependency(all.randomElement(using: &generator)!)
    case 20: queue.addTask(GroupTask<TestError>(tasks: [task, exclusive(), exclusive()]))
    case 21: queue.addTask(task.retry(attempts: 3) { [self] _ in exclusive(failing: true) })
    case 22: if endsByCancelling { addBarrier(to: queue) }
    case 23: queue.isSuspended.toggle()
    case 24: setLimit(of: queue, &generator)
    default: actOnSegmented(&generator)
    }
  }

  /// Uses the queue whose tasks depend on no task that could be behind a barrier.
  private func actOnSegmented(_ generator: inout SeededGenerator) {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0, 1: addBarrier(to: segmented)
    case 2: segmented.addTask(exclusive())
    case 3: segmented.addTask(exclusive().map { $0 }.addDependency(exclusive(in: segmented)))
    case 4:
      segmented.addTask(exclusive(failing: true).retry(attempts: 3) { [self] _ in exclusive() })
    case 5: segmented.addTask(GroupTask<TestError>(tasks: [exclusive(), exclusive()]))
    case 6: exclusive(in: segmented).cancel()
    case 7: segmented.isSuspended.toggle()
    case 8: setLimit(of: segmented, &generator)
    default: if Int.random(in: 0..<4, using: &generator) == 0 { segmented.cancelAllTasks() }
    }
  }

  private func setLimit(of queue: TaskQueue, _ generator: inout SeededGenerator) {
    let limits = [1, 2, 3, OperationQueue.defaultMaxConcurrentOperationCount]
    queue.maxConcurrentTaskCount = limits.randomElement(using: &generator)!
  }

  private func addBarrier(to queue: TaskQueue) {
    let object = tracker.make()
    queue.addBarrierBlock { object.touch() }
  }

  /// Makes a task of the category.
  private func exclusive(failing: Bool = false, in queue: TaskQueue? = nil) -> Stage {
    let (object, working) = (tracker.make(), working)
    let task: Stage = BlockProducerTask { _, finish in
      working.add()
      later {
        object.touch()
        working.add(-1)
        finish(failing ? .failure(.provided(.first)) : .success(8))
      }
    }
    task.addCondition(Conditions.MutuallyExclusive<Int>())
    queue?.addTask(task)
    return task
  }

  /// Whether every task has ended, and the queues are empty.
  var isAtRest: Bool { all.allSatisfy(\.isFinished) && busyQueues.isEmpty }

  /// What has not ended.
  var pending: String {
    let unfinished = all.filter { !$0.isFinished }.map(\.description)
    return (unfinished + busyQueues.map(\.debugDescription)).joined(separator: "\n")
  }

  private var busyQueues: [TaskQueue] {
    (queues + [segmented]).filter { $0.taskCount > 0 || $0.operationCount > 0 }
  }

  /// Lets everything end.
  func end() {
    for queue in queues + [segmented] { queue.isSuspended = false }
    for task in all {
      if endsByCancelling { task.cancel() } else { queues[0].addTask(task) }
    }
    if endsByCancelling { for queue in queues { queue.cancelAllTasks() } }
  }
}
