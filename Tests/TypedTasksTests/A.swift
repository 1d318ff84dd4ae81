import Foundation
import TestSupport
import Testing
import TypedTasks
import Futures

@Suite(.timeLimit(.minutes(1)), .oneAtATime) struct Smoke {
  @Test func first() async throws {
    let queue = TaskQueue()
    let log = Log<String>()
    let t = BlockProducerTask<Int, TestError> { _, finish in finish(.success(1)) }
      .receive { log.append("\($0)") }
    let m = t.map { $0 + 1 }.map { "\($0)" }.receive { log.append("\($0)") }
    queue.addTask(m)
    #expect(try await m.value == "2")
    #expect(log.entries.count == 2)
    let f = BlockProducerTask<Int, TestError> { _, finish in finish(.failure(.provided(.first))) }
      .catch { _ in BlockProducerTask<Int, Never> { _, finish in finish(.success(7)) } }
    queue.addTask(f)
    #expect(try await f.value == 7)
    let g = GroupProducerTask(tasks: (t, f), produced: f)
    queue.addTask(g)
    #expect(try await g.value == 7)
  }
}
