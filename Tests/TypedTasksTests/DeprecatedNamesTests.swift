import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Names that have been replaced", .timeLimit(.minutes(5)), .oneAtATime)
struct DeprecatedNamesTests {
  @available(*, deprecated)
  private final class Subclass: TaskQueue, @unchecked Sendable {
    init() { super.init(name: "subclass", maxConcurrentTasks: 3) }
  }

  @available(*, deprecated)
  @Test("maxConcurrentTasks: sets the limit, in a subclass too")
  func limit() {
    let queue = TaskQueue(name: "queue", maxConcurrentTasks: 2, startSuspended: true)
    #expect(queue.maxConcurrentTaskCount == 2 && queue.name == "queue" && queue.isSuspended)
    #expect(Subclass().maxConcurrentTaskCount == 3)
  }

  @available(*, deprecated)
  @Test("merge(with:) collects, and replaceEmpty { } gives a Void task a value")
  func operators() async {
    let queue = TaskQueue()
    let merged = succeeding(1).merge(with: succeeding(2), succeeding(3))
    let replaced = succeeding(1).ignoreOutput().replaceEmpty { 7 }
    queue.addTask(merged)
    queue.addTask(replaced)
    #expect(await merged.completion.successValue == [1, 2, 3])
    #expect(await replaced.completion.successValue == 7)
  }

  @available(*, deprecated)
  @Test("Timeout(timeout:) takes seconds, and Silent(condition:) the condition")
  func initializers() {
    #expect(Observers.Timeout(timeout: 1.5).duration == .milliseconds(1500))
    #expect(Observers.Timeout(.milliseconds(1500)).timeout == 1.5)
    #expect(Observers.Timeout(timeout: .nan).duration == .zero)
    #expect(Observers.Timeout(timeout: -1).duration == .zero)
    #expect(Observers.Timeout(timeout: .infinity).duration == .seconds(3_000_000_000 as Int64))
    _ = Conditions.Silent(condition: Conditions.Empty()).condition
  }
}
