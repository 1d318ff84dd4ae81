import Foundation
import TestSupport
import Testing

@testable import Futures

/// The life of what stands in a queue for something else.
@Suite("A placeholder in a queue", .timeLimit(.minutes(5)), .oneAtATime)
struct PlaceholderOperationTests {
  private final class Placeholder: PlaceholderOperation, @unchecked Sendable {
    // Sendable: the counts have locks.
    private let counts = TestLock((begun: 0, cancelled: 0))
    var begun: Int { counts.withLock { $0.begun } }
    var cancelled: Int { counts.withLock { $0.cancelled } }
    override func begin() { counts.withLock { $0.begun += 1 } }
    override func cancelOccupants() { counts.withLock { $0.cancelled += 1 } }
  }

  @Test func `one that waits is not ready and cannot be started`() {
    let placeholder = Placeholder()
    placeholder.start()
    #expect(!placeholder.isReady)
    #expect(!placeholder.isExecuting)
    #expect(placeholder.begun == 0)
    placeholder.becomeReady()
    #expect(placeholder.isReady)
    #expect(!placeholder.isExecuting)
  }

  @Test func `one that is started begins once, and finishes as it is held by nobody`() {
    let placeholder = Placeholder()
    placeholder.beginReady()
    placeholder.start()
    placeholder.start()
    #expect(placeholder.begun == 1)
    #expect(placeholder.isFinished)
    #expect(!placeholder.isExecuting)
    #expect(placeholder.isExecuting || placeholder.isFinished)
  }

  @Test(arguments: 1...3)
  func `one that is held executes until the last hold is given back`(_ holds: Int) {
    let placeholder = Placeholder()
    placeholder.beginReady()
    for _ in 0..<holds { placeholder.hold() }
    placeholder.start()
    for _ in 0..<holds {
      #expect(placeholder.isExecuting)
      #expect(!placeholder.isFinished)
      placeholder.release()
    }
    #expect(placeholder.isFinished)
  }

  @Test func `a hold that is given back before the start keeps the place until then`() {
    let placeholder = Placeholder()
    placeholder.beginReady()
    placeholder.hold()
    placeholder.release()
    #expect(!placeholder.isFinished)
    placeholder.start()
    #expect(placeholder.isFinished)
  }

  @Test func `one that is blocked is not ready until it is no more`() {
    let placeholder = Placeholder()
    placeholder.beginReady()
    placeholder.setBlocked(true)
    #expect(!placeholder.isReady)
    placeholder.setBlocked(false)
    #expect(placeholder.isReady)
  }

  @Test func `cancelling reaches what it stands for, once, and says so`() {
    let placeholder = Placeholder()
    placeholder.cancel()
    placeholder.cancel()
    #expect(placeholder.cancelled == 1)
    #expect(placeholder.isCancelled)
    // A queue must not take it for ready.
    #expect(!placeholder.isReady)
  }

  @Test func `a queue starts what becomes ready there, and waits for the last hold`() async {
    let (placeholder, queue, idle) = (Placeholder(), OperationQueue(), Event())
    placeholder.hold()
    queue.addReliably(placeholder)
    #expect(placeholder.begun == 0)
    placeholder.becomeReady()
    #expect(await eventually { placeholder.begun == 1 })
    #expect(queue.operations.contains(placeholder))
    placeholder.completionBlock = { idle.signal() }
    placeholder.release()
    #expect(await idle.opened())
  }

  @Test func `name, priority and quality of service are those of what it stands for`() {
    let (placeholder, promise) = (Placeholder(), Promise<Int>(name: "one"))
    promise.queuePriority = .high
    promise.qualityOfService = .utility
    placeholder.takeScheduling(of: promise)
    #expect(placeholder.name == "one")
    #expect(placeholder.queuePriority == .high)
    #expect(placeholder.qualityOfService == .utility)
    promise.cancel()
  }
}
