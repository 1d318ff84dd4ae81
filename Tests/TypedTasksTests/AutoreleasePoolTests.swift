#if PROPERATIONS_AS_ON_DARWIN && !canImport(Darwin)

  import Foundation
  import Futures
  import TestSupport
  import Testing
  import TypedTasks

  @Suite("Autorelease pools around the code of tasks", .timeLimit(.minutes(5)))
  struct AutoreleasePoolTests {
    @Test("The work of a task and its handlers run in a pool")
    func work() async {
      let pools = Log<Int>()
      let task = NonFailBlockProducerTask<Int> { _ in
        pools.append(AutoreleasePools.count)
        return 1
      }
      let queue = TaskQueue()
      queue.addTask(task.map { _ in pools.append(AutoreleasePools.count) })
      #expect(await eventually { pools.count == 2 })
      #expect(pools.entries.allSatisfy { $0 >= 1 })
    }

    @Test("Observers and handlers of cancellation run in a pool: also one that comes late")
    func cancellation() async {
      let pools = Log<Int>()
      let task = Manual<Int>()
      let queue = TaskQueue()
      queue.addTask(task)
      await task.started.opened()
      task.addObserver(BlockObserver(didCancel: { _ in pools.append(AutoreleasePools.count) }))
      task.onCancellationRequest { pools.append(AutoreleasePools.count) }
      task.cancel()
      task.onCancellationRequest { pools.append(AutoreleasePools.count) }
      #expect(pools.entries == [1, 1, 1])
      task.finish(with: .success(1))
    }
  }

#endif
