import Futures
import TestSupport
import Testing
import TypedTasks

/// Every number of members that a tuple may have has an initialiser of its own.
@Suite("Groups of every size", .timeLimit(.minutes(5)), .oneAtATime)
struct GroupSizeTests {
  private let queue = TaskQueue()
  private let count = Counter()
  private let decisive = Box<Sample<Int>?>(nil)

  /// A member: it counts, and its value is its number.
  private var next: Sample<Int> { Sample { [count] _, finish in finish(.success(count.add())) } }

  /// The member of this round whose result is the group's.
  private var last: Sample<Int> {
    if let task = decisive.value { return task }
    let task = next
    decisive.value = task
    return task
  }

  private func check<Plain: ProducerTaskProtocol>(
    _ size: Int, _ plain: Plain, _ produced: ProducerTask<Int, TestError>
  ) async {
    let before = count.value
    queue.addTask(plain)
    await queue.finished()
    #expect(plain.isFinished && !plain.isCancelled, "\(size)")
    #expect(count.value == before + size, "\(size)")
    queue.addTask(produced)
    #expect(await produced.outcome() == .success, "\(size)")
    #expect(produced.success == last.success, "\(size)")
    #expect(count.value == before + 2 * size, "\(size)")
    decisive.value = nil
  }

  @Test("67. A group of one to twelve tasks runs them all, and takes the result of the one named")
  func groups() async {
    await check(
      1, GroupTask<TestError>(tasks: next),
      GroupProducerTask(tasks: last, produced: last))
    await check(
      2, GroupTask<TestError>(tasks: (next, next)),
      GroupProducerTask(tasks: (next, last), produced: last))
    await check(
      3, GroupTask<TestError>(tasks: (next, next, next)),
      GroupProducerTask(tasks: (next, next, last), produced: last))
    await check(
      4, GroupTask<TestError>(tasks: (next, next, next, next)),
      GroupProducerTask(tasks: (next, next, next, last), produced: last))
    await check(
      5, GroupTask<TestError>(tasks: (next, next, next, next, next)),
      GroupProducerTask(tasks: (next, next, next, next, last), produced: last))
    await check(
      6, GroupTask<TestError>(tasks: (next, next, next, next, next, next)),
      GroupProducerTask(tasks: (next, next, next, next, next, last), produced: last))
    await check(
      7, GroupTask<TestError>(tasks: (next, next, next, next, next, next, next)),
      GroupProducerTask(tasks: (next, next, next, next, next, next, last), produced: last))
    await check(
      8, GroupTask<TestError>(tasks: (next, next, next, next, next, next, next, next)),
      GroupProducerTask(tasks: (next, next, next, next, next, next, next, last), produced: last))
    await check(
      9, GroupTask<TestError>(tasks: (next, next, next, next, next, next, next, next, next)),
      GroupProducerTask(
        tasks: (next, next, next, next, next, next, next, next, last), produced: last))
    await check(
      10, GroupTask<TestError>(tasks: (next, next, next, next, next, next, next, next, next, next)),
      GroupProducerTask(
        tasks: (next, next, next, next, next, next, next, next, next, last), produced: last))
    await check(
      11,
      GroupTask<TestError>(
        tasks: (next, next, next, next, next, next, next, next, next, next, next)),
      GroupProducerTask(
        tasks: (next, next, next, next, next, next, next, next, next, next, last), produced: last))
    await check(
      12,
      GroupTask<TestError>(
        tasks: (next, next, next, next, next, next, next, next, next, next, next, next)),
      GroupProducerTask(
        tasks: (next, next, next, next, next, next, next, next, next, next, next, last),
        produced: last))
  }

  @Test("67. A consuming group of one to twelve tasks does so, too")
  func consumingGroups() async {
    let source = Tasks.just("in").setFailureType(to: TestError.self)
    queue.addTask(source)
    await check(
      1, GroupConsumerTask<String, TestError>(producing: source, tasks: next),
      GroupConsumerProducerTask(producing: source, tasks: last, produced: last))
    await check(
      2, GroupConsumerTask<String, TestError>(producing: source, tasks: (next, next)),
      GroupConsumerProducerTask(producing: source, tasks: (next, last), produced: last))
    await check(
      3, GroupConsumerTask<String, TestError>(producing: source, tasks: (next, next, next)),
      GroupConsumerProducerTask(producing: source, tasks: (next, next, last), produced: last))
    await check(
      4, GroupConsumerTask<String, TestError>(producing: source, tasks: (next, next, next, next)),
      GroupConsumerProducerTask(producing: source, tasks: (next, next, next, last), produced: last))
    await check(
      5,
      GroupConsumerTask<String, TestError>(
        producing: source, tasks: (next, next, next, next, next)),
      GroupConsumerProducerTask(
        producing: source, tasks: (next, next, next, next, last), produced: last))
    await check(
      6,
      GroupConsumerTask<String, TestError>(
        producing: source, tasks: (next, next, next, next, next, next)),
      GroupConsumerProducerTask(
        producing: source, tasks: (next, next, next, next, next, last), produced: last))
    await check(
      7,
      GroupConsumerTask<String, TestError>(
        producing: source, tasks: (next, next, next, next, next, next, next)),
      GroupConsumerProducerTask(
        producing: source, tasks: (next, next, next, next, next, next, last), produced: last))
    await check(
      8,
      GroupConsumerTask<String, TestError>(
        producing: source, tasks: (next, next, next, next, next, next, next, next)),
      GroupConsumerProducerTask(
        producing: source, tasks: (next, next, next, next, next, next, next, last), produced: last))
    await check(
      9,
      GroupConsumerTask<String, TestError>(
        producing: source, tasks: (next, next, next, next, next, next, next, next, next)),
      GroupConsumerProducerTask(
        producing: source, tasks: (next, next, next, next, next, next, next, next, last),
        produced: last))
    await check(
      10,
      GroupConsumerTask<String, TestError>(
        producing: source, tasks: (next, next, next, next, next, next, next, next, next, next)),
      GroupConsumerProducerTask(
        producing: source, tasks: (next, next, next, next, next, next, next, next, next, last),
        produced: last))
    await check(
      11,
      GroupConsumerTask<String, TestError>(
        producing: source, tasks: (next, next, next, next, next, next, next, next, next, next, next)
      ),
      GroupConsumerProducerTask(
        producing: source,
        tasks: (next, next, next, next, next, next, next, next, next, next, last), produced: last))
    await check(
      12,
      GroupConsumerTask<String, TestError>(
        producing: source,
        tasks: (next, next, next, next, next, next, next, next, next, next, next, next)),
      GroupConsumerProducerTask(
        producing: source,
        tasks: (next, next, next, next, next, next, next, next, next, next, next, last),
        produced: last))
  }

  final class Plain: GroupTask<TestError>, @unchecked Sendable {}
  final class Consuming: GroupConsumerTask<String, TestError>, @unchecked Sendable {}
  final class Own: GroupProducerTask<Int, TestError>, @unchecked Sendable {
    let number: Int
    init(_ number: Int, _ first: Sample<Int>, _ second: Sample<Int>) {
      self.number = number
      super.init(name: "own", tasks: (first, second), produced: second)
    }
    init(built number: Int, _ first: Sample<Int>, _ second: Sample<Int>) {
      self.number = number
      super.init(name: "own", produced: second) { first }
    }
  }

  @Test("67. Subclasses have the same initialisers, their own or inherited")
  func subclasses() async {
    let twelve = (next, next, next, next, next, next, next, next, next, next, next, next)
    let inherited = Plain(tasks: twelve)
    let two = Plain(tasks: (next, next))
    let none = Plain()
    let array = Plain(tasks: [next, next, next])
    let source = Tasks.just("in").setFailureType(to: TestError.self)
    let consuming = Consuming(producing: source, tasks: (next, next))
    queue.addAll([source, inherited, two, none, array, consuming])
    await queue.finished()
    #expect(count.value == 12 + 2 + 3 + 2)
    for group in [inherited, two, none, array] { #expect(group.kind == .success) }
    #expect(consuming.kind == .success)
    let (own, built) = (Own(1, next, last), Own(built: 2, next, next))
    queue.addAll([own, built])
    #expect(await own.outcome() == .success)
    #expect(own.success == last.success)
    #expect(await built.outcome() == .success)
    #expect(own.name == "own")
  }
}
