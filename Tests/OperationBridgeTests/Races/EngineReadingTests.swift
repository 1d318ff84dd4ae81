import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

private final class NosyOperation: Operation, @unchecked Sendable {
  let seen: Log<Bool>
  init(_ seen: Log<Bool>) { self.seen = seen }
  override func cancel() {
    super.cancel()
    let promise = Promise<Int>()
    let below = promise.onSuccess(on: .inline) { _ in }
    promise.fail(with: ProperationsError.ensureFailed)
    seen.append(below.isFulfilled)
  }
}

@Suite("What a reading of the bridge suspected", .timeLimit(.minutes(5)), .oneAtATime)
struct BridgeReadingTests {
  @Test func `what an operation settles while a tie cancels it takes effect at once`() {
    let seen = Log<Bool>()
    let promise = Promise<Int>()
    let operation = NosyOperation(seen)
    operation.cancel(onFailureOf: promise)
    promise.fail(with: ProperationsError.ensureFailed)
    #expect(seen.entries == [true])
  }

  @Test func `a new queue has no members of one that is gone`() async {
    final class Weak { weak var queue: OperationQueue? }
    let box = Weak()
    var promises: [Promise<Int>] = []
    func fill() {
      let queue = OperationQueue()
      box.queue = queue
      for _ in 0..<20 { promises.append(Promises.make(promising: Int.self, in: queue)) }
    }
    fill()
    try? await Task.sleep(for: .milliseconds(100))
    if box.queue == nil {
      Issue.record("a queue with pending futures was released")
    }
    for promise in promises { promise.succeed(with: 1) }
    #expect(await eventually { box.queue == nil })
  }
}
