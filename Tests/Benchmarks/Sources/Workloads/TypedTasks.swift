import Foundation
import Properations

/// Typed tasks, and the same work without them.
package enum TypedTaskWork {
  /// Runs one task after the other through a queue: each adds the next one.
  ///
  /// The same: an empty closure in a queue adds the next one. Not the same: a task has a
  /// result, and could have conditions, observers and handlers; here it has none.
  @inline(never)
  package static func tasks(_ count: Int, through queue: TaskQueue) {
    let done = DispatchSemaphore(value: 0)
    @Sendable func add(_ left: Int) {
      queue.addTask(
        BlockProducerTask<Int, Never> { _, finish in
          finish(.success(left))
          if left == 1 { done.signal() } else { add(left - 1) }
        })
    }
    add(count)
    done.wait()
  }

  /// Does the same with bare operations.
  @inline(never)
  package static func operations(_ count: Int, through queue: OperationQueue) {
    let done = DispatchSemaphore(value: 0)
    @Sendable func add(_ left: Int) {
      queue.addOperation(
        BlockOperation {
          if left == 1 { done.signal() } else { add(left - 1) }
        })
    }
    add(count)
    done.wait()
  }

  /// Builds, runs and releases a chain of operators in a queue.
  @inline(never)
  package static func operators(_ count: Int, in queue: TaskQueue) {
    let done = DispatchSemaphore(value: 0)
    var last: ProducerTask<Int, Never> = BlockProducerTask { _, finish in finish(.success(0)) }
    for _ in 0..<count { last = last.map { $0 + 1 } }
    last.receive { result in
      expect((try? result.get()) == count)
      done.signal()
    }
    queue.addTask(last)
    done.wait()
  }

  /// Does the same with futures whose closures run in an operation queue.
  @inline(never)
  package static func links(_ count: Int, on queue: OperationQueue) {
    let done = DispatchSemaphore(value: 0)
    var last = Promises.run(on: queue) { 0 }
    for _ in 0..<count { last = last.mapToValue(on: queue) { $0 + 1 } }
    last.onCompletion(on: .inline) { result in
      expect(result.successValue == count)
      done.signal()
    }
    done.wait()
  }

  /// Runs tasks, each with dependencies on up to three earlier ones.
  @inline(never)
  package static func randomDependencies(_ count: Int) {
    var random = Shuffle(state: 7)
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    queue.isSuspended = true
    var tasks: [BlockProducerTask<Int, Never>] = []
    tasks.reserveCapacity(count)
    let done = DispatchGroup()
    for index in 0..<count {
      done.enter()
      let task = BlockProducerTask<Int, Never> { _, finish in
        finish(.success(index))
        done.leave()
      }
      for _ in 0..<min(index, 3) { task.addDependency(tasks[random.next(below: index)]) }
      tasks.append(task)
      queue.addTask(task)
    }
    queue.isSuspended = false
    done.wait()
  }
}

/// A generator with the same sequence every time.
private struct Shuffle {
  var state: UInt64

  mutating func next(below limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(limit))
  }
}
