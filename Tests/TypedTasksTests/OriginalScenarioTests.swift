import Foundation
import TestSupport
import Testing
import TypedTasks

// 102. What the original tested itself, without its seconds of sleep. (There a
// string was an error.)
extension String: @retroactive Error {}

@Suite("102. Scenarios of the original", .timeLimit(.minutes(5)), .oneAtATime)
struct OriginalScenarioTests {
  private let queue = TaskQueue()

  @Test("102. Block tasks of all families")
  func blocks() async {
    let a = BlockProducerTask<Int, String>(
      name: "BlockProducerTask", qos: .userInitiated, priority: .veryHigh
    ) { (task, finish) in finish(.success(21)) }
    let b = BlockTask<String> { _, finish in finish(.failure(.provided("Oops"))) }
    let c = NonFailBlockTask { _, finish in finish(.success) }
    let d = NonFailBlockProducerTask<Int> { _, finish in finish(.success(21)) }
    let e = BlockConsumerProducerTask<Int, Int, String>(producing: a) { _, consumed, finish in
      finish(consumed.map { $0 * 2 })
    }
    let f = BlockConsumerTask<Int, String>(producing: a) { _, consumed, finish in
      finish(consumed.map { _ in })
    }
    let g = NonFailBlockConsumerTask<Int>(producing: d) { _, consumed, finish in
      finish(consumed.map { _ in })
    }
    let h = NonFailBlockConsumerProducerTask<Int, Int>(producing: d) { _, consumed, finish in
      finish(consumed.map { $0 * 2 })
    }
    queue.addAll([a, b, c, d, e, f, g, h])
    await queue.finished()
    #expect(a.success == 21)
    #expect(b.provided == "Oops")
    #expect(c.kind == .success)
    #expect(d.success == 21)
    #expect(e.success == 42)
    #expect(f.kind == .success)
    #expect(g.kind == .success)
    #expect(h.success == 42)
  }

  @Test("102. Empty and gated tasks")
  func emptyAndGated() async {
    final class Work: Operation, @unchecked Sendable {
      let ran = Counter()
      override func main() { ran.add() }
    }
    let work = Work()
    let (empty, gated) = (EmptyTask(), GatedTask(operation: work))
    queue.addAll([empty, gated])
    await queue.finished()
    #expect(empty.kind == .success)
    #expect(gated.kind == .success)
    #expect(work.ran.value == 1)
  }

  private func value(_ value: Int) -> BlockProducerTask<Int, String> {
    BlockProducerTask { _, finish in finish(.success(value)) }
  }

  private func error() -> BlockProducerTask<Int, String> {
    BlockProducerTask { _, finish in finish(.failure(.provided("Oops"))) }
  }

  @Test("102. Operators on values")
  func values() async {
    let map = value(21).map { $0 * 2 }
    let tryMap = value(21).tryMap { $0 * 2 }
    let thrown = value(21).tryMap { _ -> Int in throw "Oops" }
    let flatMap = value(21).flatMap { [self] in value($0 * 2) }
    let mapError = value(21).mapError { _ in TestError.first }
    let failureType = NonFailBlockProducerTask<Int> { _, finish in finish(.success(1)) }
      .setFailureType(to: String.self).flatMap { [self] _ in error() }
    let compact = value(21).compactMap { Optional("\($0)") }
    let none = value(21).compactMap { _ in Int?.none }
    let tryCompact = value(21).tryCompactMap { _ -> Int? in throw "Oops" }
    let replaceEmpty = value(21).ignoreOutput().map { _ in 42 }
    let replaceError = value(21).replaceError { _ in 42 }
    let zip = value(21).zip(value(42))
    let certain = value(21).assertNoFailure()
    let caught = value(21).catch { [self] _ in value(1) }
    let tryCaught = value(21).tryCatch { [self] _ in value(1) }
    let paths = BlockProducerTask<String, String> { _, finish in finish(.success("abc")) }
      .map(\.self, \.count)
    let stopped = value(21).breakpointOnError().breakpointOnOutput { _ in false }
    queue.addAll([
      map, tryMap, thrown, flatMap, mapError, failureType, compact, none, tryCompact,
      replaceEmpty, replaceError, zip, certain, caught, tryCaught, paths, stopped,
    ])
    await queue.finished()
    #expect(map.success == 42)
    #expect(tryMap.success == 42)
    #expect(thrown.provided as? String == "Oops")
    #expect(flatMap.success == 42)
    #expect(mapError.success == 21)
    #expect(failureType.provided == "Oops")
    #expect(compact.success == "21")
    #expect(none.kind == .nilOutput)
    #expect(tryCompact.provided as? String == "Oops")
    #expect(replaceEmpty.success == 42)
    #expect(replaceError.success == 21)
    #expect(zip.success.map { $0 == (21, 42) } == true)
    #expect(certain.success == 21)
    #expect(caught.success == 21)
    #expect(tryCaught.success == 21)
    #expect(paths.success.map { $0 == ("abc", 3) } == true)
    #expect(stopped.success == 21)
  }

  @Test("102. Operators on errors")
  func errors() async {
    let map = error().map { $0 * 2 }
    let flatMap = error().flatMap { [self] in value($0) }
    let mapError = error().mapError { _ in TestError.first }
    let replaceEmpty = error().ignoreOutput().map { _ in 42 }
    let ignored = error().ignoreOutput()
    let replaceError = error().replaceError { $0.count }
    let zip = error().zip(value(42))
    let caught = error().catch { [self] _ in value(1) }
    let tryCaught = error().tryCatch { [self] _ in value(1) }
    let threw = error().tryCatch { _ -> BlockProducerTask<Int, String> in throw "Again" }
    let decoded = error().map { _ in Data() }.decode(type: Int.self, decoder: JSONDecoder())
    let encoded = error().encode(encoder: JSONEncoder())
    let paths = error().map(\.self, \.description)
    queue.addAll([
      map, flatMap, mapError, replaceEmpty, ignored, replaceError, zip, caught, tryCaught, threw,
      decoded, encoded, paths,
    ])
    await queue.finished()
    #expect(map.provided == "Oops")
    #expect(flatMap.provided == "Oops")
    #expect(mapError.provided == .first)
    #expect(replaceEmpty.provided == "Oops")
    #expect(ignored.provided == "Oops")
    #expect(replaceError.success == 4)
    #expect(zip.provided == "Oops")
    #expect(caught.success == 1)
    #expect(tryCaught.success == 1)
    #expect(threw.provided as? String == "Again")
    #expect(decoded.provided as? String == "Oops")
    #expect(encoded.provided as? String == "Oops")
    #expect(paths.provided == "Oops")
  }
}
