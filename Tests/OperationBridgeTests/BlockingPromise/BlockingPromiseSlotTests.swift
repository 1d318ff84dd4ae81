import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("A blocking promise holds its slot", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockingPromiseSlotTests {
  @Test("Twenty on a serial queue, settled from other threads: one at a time, in order")
  func oneAtATime() async throws {
    let queue = OperationQueue.make()
    let (order, overlap) = (Log<Int>(), Overlap())
    let promises = (0..<20).map { number in
      Promises.makeBlocking(in: queue, promising: Int.self, on: .global()) {
        promise in
        overlap.enter()
        order.append(number)
        DispatchQueue.global().async {
          overlap.leave()
          promise.succeed(with: number)
        }
      }
    }
    #expect(try await Promises.collect(promises).value == Array(0..<20))
    #expect(order.entries == Array(0..<20))
    #expect(overlap.most == 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("Thirty on a queue with limit three: three at a time, never more")
  func limitThree() async throws {
    let queue = OperationQueue.make(limit: 3)
    let (overlap, three) = (Overlap(), Event())
    let promises = (0..<30).map { number in
      Promises.makeBlocking(in: queue, promising: Void.self, on: .inline) {
        promise in
        overlap.enter()
        if overlap.most == 3 { three.signal() }
        DispatchQueue.global().async {
          three.wait()
          overlap.leave()
          promise.succeed()
        }
      }
    }
    _ = try await Promises.collect(promises).value
    #expect(overlap.most == 3)
  }

  @Test("A pending one in front of a plain operation: the operation runs after the settlement")
  func holdsBackOthers() async throws {
    let queue = OperationQueue.make()
    let (started, log) = (Event(), Log<String>())
    let write = Protected<Promise<Void>?>(nil)
    let blocking = Promises.makeBlocking(
      in: queue, promising: Void.self, on: .global()
    ) { promise in
      write.change { $0 = promise }
      started.signal()
    }
    let after = Event()
    queue.addOperation {
      log.append("plain")
      after.signal()
    }
    await started.opened()
    #expect(blocking.isExecuting)
    log.append("settle")
    write.value?.succeed()
    await after.opened()
    #expect(log.entries == ["settle", "plain"])
  }

  @Test("A thousand in a row that settle at once: all run, in order, and the queue empties")
  func aThousand() async throws {
    let queue = OperationQueue.make()
    let order = Log<Int>()
    let promises = (0..<1000).map { number in
      Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) {
        order.append(number)
        $0.succeed(with: number)
      }
    }
    #expect(try await Promises.collect(promises).value == Array(0..<1000))
    #expect(order.entries == Array(0..<1000))
    #expect(await queue.isEmptyEventually())
  }

  @Test("One whose closure enqueues another on the same queue: the other runs after it")
  func nested() async throws {
    let queue = OperationQueue.make()
    let (overlap, inner) = (Overlap(), Protected<Future<String>?>(nil))
    let outer = Promises.makeBlocking(
      in: queue, promising: String.self, on: .inline
    ) { promise in
      overlap.enter()
      inner.change {
        $0 = Promises.makeBlocking(in: queue, promising: String.self, on: .inline) {
          overlap.enter()
          overlap.leave()
          $0.succeed(with: "inner")
        }
      }
      overlap.leave()
      promise.succeed(with: "outer")
    }
    #expect(try await outer.value == "outer")
    #expect(await eventually { inner.value != nil })
    #expect(try await inner.value?.value == "inner")
    #expect(overlap.most == 1)
  }

  @Test("A chain of 200, each made by the handler of the one before: all run")
  func reentrant() async throws {
    let queue = OperationQueue.make()
    let done = Event()
    @Sendable func next(_ left: Int) {
      guard left > 0 else { return done.signal() }
      Promises.makeBlocking(in: queue, promising: Void.self, on: .inline) {
        $0.succeed()
      }
      .onSuccess(on: .inline) { next(left - 1) }
    }
    next(200)
    await done.opened()
    #expect(done.isOpen)
    #expect(await queue.isEmptyEventually())
  }

  @Test("A suspended queue: the closure waits for the resumption")
  func suspended() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let hasRun = Event()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .inline
    ) {
      hasRun.signal()
      $0.succeed(with: 1)
    }
    #expect(queue.operationCount == 1)
    #expect(!hasRun.isOpen)
    queue.isSuspended = false
    #expect(try await promise.value == 1)
  }

  @Test("A very high priority behind normal ones on a suspended queue: starts first")
  func priority() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let order = Log<String>()
    let promises = ["a", "b", "urgent"].map { name in
      let promise = BlockingPromise<Void>(name: name, on: .inline) {
        order.append(name)
        $0.succeed()
      }
      if name == "urgent" { promise.queuePriority = .veryHigh }
      return promise
    }
    for promise in promises { try queue.addFuture(promise) }
    queue.isSuspended = false
    _ = try await Promises.collect(promises).value
    #expect(order.entries == ["urgent", "a", "b"])
  }

  @available(*, deprecated)
  @Test("each spelling of the factory makes a promise that occupies its queue until settled")
  func spellings() async throws {
    typealias Body = @Sendable (Promise<Int>) -> Void
    for make: @Sendable (OperationQueue, @escaping Body) -> BlockingPromise<Int> in [
      { Promises.makeBlocking(in: $0, promising: Int.self, on: .global(), $1) },
      { Promises.makeBlocking(in: $0, promising: Int.self, on: .global(), $1) },
      { Promise<Int>.makeBlocking(in: $0, executionContext: .global(), $1) },
    ] {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      let isDone = Event()
      let body: Body = { promise in if isDone.wait() { promise.succeed(with: 1) } }
      let (first, second) = (make(queue, body), make(queue, body))
      #expect(!first.isFulfilled && !second.isExecuting)
      isDone.signal()
      #expect(try await first.value + second.value == 2)
    }
  }

  @available(*, deprecated)
  @Test("each spelling without a context runs its closure on the main actor")
  @MainActor
  func spellingsOnMain() async throws {
    final class View {
      var promises: [Promise<Int>] = []
    }
    let view = View()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let all = [
      Promises.makeBlocking(in: queue, promising: Int.self) { promise in
        view.promises.append(promise)
        promise.succeed(with: 1)
      },
      Promises.makeBlocking(in: queue, promising: Int.self) { promise in
        view.promises.append(promise)
        promise.succeed(with: 2)
      },
      Promise<Int>.makeBlocking(in: queue) { promise in
        view.promises.append(promise)
        promise.succeed(with: 3)
      },
    ]
    #expect(try await Promises.collect(all).value == [1, 2, 3])
    #expect(view.promises.count == 3)
  }
}
