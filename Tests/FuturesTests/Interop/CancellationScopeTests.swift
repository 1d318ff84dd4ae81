import Foundation
import Futures
import TestSupport
import Testing

@Suite("CancellationScope", .timeLimit(.minutes(5)), .oneAtATime)
struct CancellationScopeTests {
  @Test func `cancelling a scope cancels its futures, of whatever type`() {
    let scope = CancellationScope()
    let (one, two) = (Promise<Int>(), Promise<String>())
    #expect(one.cancelled(by: scope) === one)
    let link = two.mapToValue(on: .inline) { $0 }.cancelled(by: scope)
    #expect(!scope.isCancelled)
    scope.cancel()
    #expect(scope.isCancelled)
    #expect(one.isCancelled)
    #expect(link.isCancelled)
    #expect(two.isCancelled)
  }

  @Test func `a future added to a cancelled scope is cancelled at once`() {
    let scope = CancellationScope()
    scope.cancel()
    scope.cancel()
    #expect(Promise<Int>().cancelled(by: scope).isCancelled)
    #expect(!Promises.makeSucceeded(with: 1).cancelled(by: scope).isCancelled)
  }

  @Test func `cancelling a parent cancels its children, not the other way round`() {
    let parent = CancellationScope()
    let child = parent.makeChild()
    let grandchild = CancellationScope(parent: child)
    let futures = [parent, child, grandchild].map { Promise<Int>().cancelled(by: $0) }
    child.cancel()
    #expect(!futures[0].isCancelled)
    #expect(!parent.isCancelled)
    #expect(futures[1].isCancelled)
    #expect(futures[2].isCancelled)
    #expect(grandchild.isCancelled)
    parent.cancel()
    #expect(futures[0].isCancelled)
    #expect(parent.makeChild().isCancelled)
  }

  @Test func `releasing a scope does nothing`() {
    let promise = Promise<Int>()
    do { promise.cancelled(by: CancellationScope()) }
    #expect(!promise.isCancelled)
  }

  @Test func `the futures of a scope that is released pass to the one that it was made from`() {
    let outer = CancellationScope()
    let promise = Promise<Int>().cancelled(by: outer.makeChild())
    let deep = Promise<Int>().cancelled(by: outer.makeChild().makeChild())
    #expect(!promise.isCancelled && !deep.isCancelled)
    outer.cancel()
    #expect(promise.isCancelled && deep.isCancelled)
  }

  @Test func `releasing a scope that was made to cancel then cancels its futures`() {
    let promise = Promise<Int>()
    do { promise.cancelled(by: CancellationScope(cancelsOnDeinit: true)) }
    #expect(promise.isCancelled)
    let other = Promise<Int>()
    let parent = CancellationScope()
    do { other.cancelled(by: parent.makeChild(cancelsOnDeinit: true)) }
    #expect(other.isCancelled)
    #expect(!parent.isCancelled)
  }

  @Test func `a scope keeps no future and breaks no promise's release`() {
    let scope = CancellationScope()
    weak var gone: Promise<Int>?
    let below: Future<Int>
    do {
      let promise = Promise<Int>().cancelled(by: scope)
      gone = promise
      below = promise.mapToValue(on: .inline) { $0 }
    }
    #expect(gone == nil)
    #expect(below.isFulfilled)
    #expect(!below.isCancelled)
  }

  @Test func `a scope keeps no child, and a child's end leaves the others`() {
    let scope = CancellationScope()
    weak var gone: CancellationScope?
    let kept = scope.makeChild()
    let promise = Promise<Int>().cancelled(by: kept)
    do { gone = scope.makeChild() }
    #expect(gone == nil)
    scope.cancel()
    #expect(promise.isCancelled)
  }

  @Test func `a future in two scopes is cancelled by either`() {
    let (one, two) = (CancellationScope(), CancellationScope())
    let promise = Promise<Int>().cancelled(by: one).cancelled(by: two)
    two.cancel()
    #expect(promise.isCancelled)
    one.cancel()
  }

  @Test func `a scope may be cancelled from a handler of its own future`() {
    let scope = CancellationScope()
    let (one, two) = (Promise<Int>(), Promise<Int>().cancelled(by: scope))
    one.onSuccess(on: .inline) { _ in scope.cancel() }
    one.cancelled(by: scope)
    one.succeed(with: 1)
    #expect(two.isCancelled)
    #expect(!one.isCancelled)
  }

  @Test func `an inline handler may wait for another future of the scope`() async throws {
    for isReleased in [true, false] {
      try await SmallStackThread.running {
        var scope: CancellationScope? = CancellationScope(cancelsOnDeinit: isReleased)
        let futures = Self.waitingForEachOther(3)
        if let scope { for future in futures { future.cancelled(by: scope) } }
        if !isReleased { scope?.cancel() }
        scope = nil
        #expect(futures.allSatisfy { $0.isCancelled })
      }
    }
  }

  /// Promises of which each, when it is cancelled, waits for the next one.
  private static func waitingForEachOther(_ count: Int) -> [Promise<Int>] {
    let promises = (0..<count).map { _ in Promise<Int>() }
    for (index, promise) in promises.enumerated() {
      let next = promises[(index + 1) % count]
      promise.onCancel(on: .inline) { [weak next] in _ = try? next?.wait() }
    }
    return promises
  }

  @Test func `adding from one thread while another cancels misses no future: 1,000 rounds`() async {
    let missed = Counter()
    let ended = await RaceHarness(threads: 3, rounds: 1_000).run { _ in
      (CancellationScope(), (0..<3).map { _ in Promise<Int>() })
    } act: { subject, thread in
      if thread == 0 { subject.0.cancel() } else { subject.1[thread].cancelled(by: subject.0) }
    } check: { subject, _ in
      if !subject.1[1].isCancelled || !subject.1[2].isCancelled { missed.add() }
    }
    #expect(ended)
    #expect(missed.value == 0)
  }

  @Test func `scopes nested 10,000 deep are cancelled and released`() async throws {
    let isCancelled = try await SmallStackThread.running(stackSize: 8 << 20) {
      let outer = CancellationScope()
      var inner = outer
      for _ in 0..<10_000 { inner = inner.makeChild() }
      let promise = Promise<Int>().cancelled(by: inner)
      // The scopes between are kept by their children.
      outer.cancel()
      return promise.isCancelled
    }
    #expect(isCancelled)
  }
}
