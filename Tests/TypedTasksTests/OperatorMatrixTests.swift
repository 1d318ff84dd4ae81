import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Every operator in every situation", .timeLimit(.minutes(5)), .oneAtATime)
struct OperatorMatrixTests {
  private let queue = TaskQueue()

  @Test("104. The matrix has a row for every operator of the module")
  func isComplete() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/TypedTasks/Operators")
    var names: Set<String> = []
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      for match in text.matches(of: /public (?:final|static) func `?(\w+)/) {
        names.insert(String(match.1))
      }
    }
    #expect(names.count > 30, "the sources were not found")
    #expect(names.subtracting(OperatorRow.all.map(\.name)) == [])
    #expect(Set(OperatorRow.all.map(\.name)).subtracting(names) == [])
  }

  @Test("104. Added with its upstream, a stage ends as the table says")
  func together() async {
    for row in OperatorRow.all {
      for upstream in row.upstreams {
        let stage = row.make(upstream.task())
        queue.addTask(stage.task)
        await stage.settled()
        #expect(stage.kind() == row.expected(upstream), "\(row.name) of \(upstream)")
      }
    }
  }

  @Test("104. Made of a task that has finished, a stage ends in the same way")
  func finishedBefore() async {
    for row in OperatorRow.all {
      for upstream in row.upstreams {
        let task = upstream.task()
        queue.addTask(task)
        _ = await task.completion
        let stage = row.make(task)
        queue.addTask(stage.task)
        await stage.settled()
        #expect(stage.kind() == row.expected(upstream), "\(row.name) of \(upstream)")
      }
    }
  }

  @Test("104. Added while its upstream executes, a stage ends with it, and its handlers run once")
  func executing() async {
    for row in OperatorRow.all {
      for upstream in row.upstreams {
        let task = Manual<Int>()
        let stage = row.make(task)
        let count = Counter()
        stage.receive { count.add() }
        queue.addTask(task)
        await task.started.opened()
        queue.addTask(stage.task)
        #expect(stage.kind() == nil, "\(row.name)")
        switch upstream {
        case .success: task.finish(with: .success(21))
        case .provided: task.finish(with: .failure(.provided(.first)))
        case .internal: task.finish(with: .failure(.internal(InnerError())))
        case .cancelled:
          task.cancel()
          task.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
        }
        await stage.settled()
        #expect(stage.kind() == row.expected(upstream), "\(row.name) of \(upstream)")
        #expect(count.value == 1, "\(row.name) of \(upstream)")
        // Too late.
        stage.task.cancel()
        #expect(stage.kind() == row.expected(upstream), "\(row.name) of \(upstream)")
        #expect(stage.task.isCancelled == (row.expected(upstream) == .cancelled), "\(row.name)")
        #expect(count.value == 1, "\(row.name) of \(upstream)")
      }
    }
  }

  @Test("104. Cancelled in no queue, waiting, or above it something runs, a stage ends at once")
  func cancelled() async {
    for row in OperatorRow.all where !row.traps.contains(.cancelled) {
      let count = Counter()
      let idleTop = Manual<Int>()
      let idle = row.make(idleTop)
      idle.receive { count.add() }
      idle.task.cancel()
      #expect(idle.kind() == .cancelled, "\(row.name)")
      #expect(idleTop.kind == .cancelled, "\(row.name)")

      let suspended = TaskQueue(startSuspended: true)
      let waitingTop = Manual<Int>()
      let waiting = row.make(waitingTop)
      waiting.receive { count.add() }
      suspended.addTask(waiting.task)
      waiting.task.cancel()
      waiting.task.cancel()
      #expect(waiting.kind() == .cancelled, "\(row.name)")
      #expect(waitingTop.kind == .cancelled, "\(row.name)")
      #expect(count.value == 2, "\(row.name)")
      // (Foundation keeps a suspended queue for as long as something is in it.)
      suspended.isSuspended = false

      let top = Manual<Int>()
      let stage = row.make(top)
      stage.receive { count.add() }
      queue.addTask(stage.task)
      await top.started.opened()
      stage.task.cancel()
      #expect(top.isCancelled, "\(row.name)")
      if !row.isUpstreamItself {
        #expect(stage.kind() == .cancelled, "\(row.name)")
        #expect(count.value == 3, "\(row.name)")
      }
      top.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
      #expect(stage.kind() == .cancelled, "\(row.name)")
      #expect(count.value == 3, "\(row.name)")
    }
    await queue.finished()
  }

  @Test("104. Made and added in a handler of its upstream, and built on in its own, it ends too")
  func reentrant() async {
    for row in OperatorRow.all {
      for upstream in row.upstreams where upstream != .cancelled {
        let made = Box<OperatorRow.Stage?>(nil)
        let (ended, below) = (Event(), Counter())
        let task = upstream.task()
        task.receive { [queue] _ in
          let stage = row.make(task)
          made.value = stage
          stage.receive {
            stage.task.cancel()
            stage.addBelow(queue)
            below.add()
            ended.signal()
          }
          queue.addTask(stage.task)
        }
        queue.addTask(task)
        #expect(await ended.opened(), "\(row.name) of \(upstream)")
        #expect(made.value?.kind() == row.expected(upstream), "\(row.name) of \(upstream)")
        #expect(below.value == 1)
        made.value = nil
      }
    }
    await queue.finished()
  }

  @Test("104. What has ended, or was never added, leaves nothing behind")
  func lifetime() async {
    for row in OperatorRow.all {
      for (upstream, isAdded) in [
        (Upstream.success, true), (.success, false), (.provided, true),
      ] where !row.traps.contains(upstream) {
        let tracker = LifetimeTracker()
        do {
          let tracked = tracker.make()
          let task = Sample<Int> { _, finish in
            tracked.touch()
            finish(upstream == .success ? .success(21) : .failure(.provided(.first)))
          }
          task.receive { _ in tracked.touch() }
          let stage = row.make(task)
          stage.receive { tracked.touch() }
          if isAdded {
            queue.addTask(stage.task)
            await stage.settled()
          }
        }
        #expect(await eventually { tracker.alive == 0 }, "\(row.name) of \(upstream)")
      }
    }
  }
}
