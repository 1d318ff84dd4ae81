import Foundation
import Futures
import TestSupport
import Testing

@Suite("Awaiting futures", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureAsyncTests {
  @Test func `the value of a settled future is there, its error is thrown`() async throws {
    #expect(try await Promises.makeSucceeded(with: 1).value == 1)
    await #expect(throws: TestError.first) {
      try await Promises.makeFailed(with: TestError.first, promising: Int.self).value
    }
  }

  @Test func `the value of a pending future comes when it settles`() async throws {
    let promise = Promise<Int>()
    let waiting = Task { try await promise.value }
    #expect(await hasWaiter(promise))
    promise.succeed(with: 1)
    #expect(try await waiting.value == 1)
  }

  @Test func `completion never throws`() async {
    #expect(await Promises.makeSucceeded(with: 1).completion.successValue == 1)
    let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
    #expect(await failed.completion.failureValue as? TestError == .first)
  }

  @Test func `a cancelled future throws cancelled`() async {
    let promise = Promise<Int>()
    promise.cancel()
    await #expect(throws: ProperationsError.cancelled) { try await promise.value }
  }

  @Test(.guarantee(9))
  func `cancelling a task that waits ends its wait and leaves the future alone`() async {
    let promise = Promise<Int>()
    let (one, two) = (Task { try await promise.value }, Task { try await promise.value })
    #expect(await hasWaiter(promise))
    one.cancel()
    await #expect(throws: CancellationError.self) { try await one.value }
    #expect(!promise.isFulfilled)
    promise.succeed(with: 1)
    #expect((try? await two.value) == 1)
  }

  @Test func `a task cancelled before it waits for a pending future gets CancellationError`() async
  {
    let promise = Promise<Int>()
    let go = Event()
    let task = Task {
      await go.opened()
      return try await promise.value
    }
    task.cancel()
    go.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!promise.isFulfilled)
  }

  @Test func `a task cancelled before it asks a settled future gets the value`() async throws {
    let go = Event()
    let task = Task {
      await go.opened()
      return try await Promises.makeSucceeded(with: 1).value
    }
    task.cancel()
    go.signal()
    #expect(try await task.value == 1)
  }

  @Test func `a task cancelled after the value came keeps it`() async throws {
    let promise = Promise<Int>()
    let task = Task { try await promise.value }
    #expect(await hasWaiter(promise))
    promise.succeed(with: 1)
    task.cancel()
    _ = await task.result
    #expect(promise.result?.successValue == 1)
  }

  @Test func `cancelling with cancelFuture cancels the future too`() async {
    let promise = Promise<Int>()
    let task = Task { try await promise.value(onTaskCancellation: .cancelFuture) }
    #expect(await hasWaiter(promise))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await eventually { promise.isCancelled })
  }

  @Test func `a task cancelled beforehand that waits with cancelFuture cancels the future`() async {
    let promise = Promise<Int>()
    let go = Event()
    let task = Task {
      await go.opened()
      return await promise.completion(onTaskCancellation: .cancelFuture)
    }
    task.cancel()
    go.signal()
    #expect(await task.value.failureValue is CancellationError)
    #expect(promise.isCancelled)
  }

  @Test func `a wait that was cancelled does not keep a chain from cancelling its promise`() async {
    let promise = Promise<Int>()
    let link = promise.mapToValue(on: .inline) { $0 }
    let task = Task { try await link.value }
    #expect(await hasWaiter(link))
    task.cancel()
    _ = await task.result
    #expect(!promise.isCancelled)
    link.mapToValue(on: .inline) { $0 }.cancel()
    #expect(promise.isCancelled)
  }

  @Test func `100 tasks await one future, 50 are cancelled while it settles: each ends`() async {
    for _ in 0..<20 {
      let promise = Promise<Int>()
      let tasks = (0..<100).map { _ in Task { await promise.completion } }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { promise.succeed(with: 1) }
        group.addTask { for task in tasks.prefix(50) { task.cancel() } }
      }
      for (index, task) in tasks.enumerated() {
        let result = await task.value
        if index >= 50 {
          #expect(result.successValue == 1)
        } else {
          #expect(result.successValue == 1 || result.failureValue is CancellationError)
        }
      }
      #expect(promise.result?.successValue == 1)
    }
  }

  @Test func `awaiting from the main actor comes back to it`() async throws {
    try await Task { @MainActor in
      let value = try await Promises.run { 1 }.value
      MainActor.assertIsolated()
      #expect(value == 1)
    }.value
  }

  @Test func `cancelling and settling at once never hangs the waiting task: 1,000 rounds`() async {
    for _ in 0..<1_000 {
      let promise = Promise<Int>()
      let task = Task { await promise.completion }
      DispatchQueue.global().async { promise.succeed(with: 1) }
      task.cancel()
      let result = await task.value
      #expect(result.successValue == 1 || result.failureValue is CancellationError)
    }
  }
}
