import FuturesTestSupport
import TestSupport
import Testing

@testable import Futures

@Suite("Progress of loops", .timeLimit(.minutes(5)), .oneAtATime)
struct ProgressOfLoopsTests {
  @Test func `a loop counts its turns, of an unknown number`() async {
    let turns = (0..<3).map { _ in Promise<LoopStep<Int, Int>>() }
    let loop = Promises.loop(0, on: .inline) { turns[$0] }
    let end = loop.mapToValue(on: .inline) { $0 }
    var updates = end.progressUpdates.makeAsyncIterator()
    #expect(await updates.next() == .unknown)
    turns[0].report(completed: 1, of: 2)
    #expect(loop.currentProgress.isIndeterminate && loop.currentProgress.completed == nil)
    turns[0].succeed(with: .next(1))
    #expect(await updates.next()?.completed == 1)
    turns[1].succeed(with: .next(2))
    let progress = await updates.next()
    #expect(progress?.completed == 2 && progress?.total == nil)
    #expect(progress?.isIndeterminate == true && progress?.fractionCompleted == 0)
    #expect(loop.currentProgress.description == "2 of an unknown number")
    turns[2].succeed(with: .done(7))
    #expect(await updates.next()?.fractionCompleted == 1)
    #expect(await updates.next() == nil)
  }

  @Test func `a loop that fails or is cancelled is indeterminate`() {
    for isCancelled in [false, true] {
      let turns = (0..<2).map { _ in Promise<LoopStep<Int, Int>>() }
      let loop = Promises.loop(0, on: .inline) { turns[$0] }
      turns[0].succeed(with: .next(1))
      #expect(loop.currentProgress.completed == 1)
      if isCancelled { loop.cancel() } else { turns[1].fail(with: TestError.first) }
      #expect(loop.error != nil && loop.currentProgress == .unknown)
    }
  }

  @Test func `a search in a collection has the mean of the elements`() async {
    let gates = (0..<4).map { _ in Promise<Bool>() }
    let found = Promises.find(in: 0..<4, on: .inline) { gates[$0] }
    let end = found.mapToValue(on: .inline) { $0 }
    let progress = end.makeProgress()
    var updates = end.progressUpdates.makeAsyncIterator()
    #expect(await updates.next() == .unknown)
    gates[0].report(completed: 1, of: 2)
    #expect(await updates.next()?.fractionCompleted == 0.125)
    gates[0].succeed(with: false)
    #expect(await updates.next()?.fractionCompleted == 0.25)
    gates[1].succeed(with: false)
    gates[2].report(completed: 1, of: 2)
    #expect(await updates.next()?.fractionCompleted == 0.625)
    #expect(progress.fractionCompleted == 0.625)
    gates[2].succeed(with: true)
    #expect(await updates.next()?.fractionCompleted == 1)
    #expect(await updates.next() == nil && progress.isFinished)
    gates[3].cancel()
  }

  @Test func `a search in a sequence that does not know its count counts the elements`() {
    let gates = (0..<2).map { _ in Promise<Bool>() }
    let found = Promises.find(in: (0..<2).lazy.filter { _ in true }, on: .inline) { gates[$0] }
    gates[0].report(completed: 1, of: 2)
    gates[0].succeed(with: false)
    #expect(found.currentProgress.isIndeterminate && found.currentProgress.completed == 1)
    found.cancel()
  }

  @Test func `a search in a collection with more elements than it says is never above 1`() {
    let gates = (0..<4).map { _ in Promise<Bool>() }
    let found = Promises.find(in: Understating(), on: .inline) { gates[$0] }
    var last = 0.0
    for gate in gates {
      gate.report(completed: 1, of: 2)
      #expect(found.currentProgress.fractionCompleted < 1)
      last = found.currentProgress.fractionCompleted
      gate.succeed(with: false)
    }
    #expect(last == 0.875 && found.currentProgress.fractionCompleted == 1)
  }

  @Test func `the closure of a turn runs: the turns before it are complete`() {
    let seen = Log<Double>()
    let box = Log<AnyFuture>()
    let gates = (0..<2).map { _ in Promise<Bool>() }
    let found = Promises.find(in: 0..<2, on: .inline) { index in
      for future in box.entries { seen.append(future.currentProgress.fractionCompleted) }
      return gates[index]
    }
    box.append(found)
    gates[0].succeed(with: false)
    #expect(seen.entries == [0.5])
    gates[1].succeed(with: true)
  }

  @Test func `reduce has the progress of its inputs`() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let sum = Promises.reduce(promises, 0, on: .inline, +)
    promises[0].report(completed: 1, of: 2)
    #expect(sum.currentProgress.fractionCompleted == 0.25)
    promises[0].succeed(with: 1)
    #expect(sum.currentProgress.fractionCompleted == 0.5)
    promises[1].succeed(with: 1)
    #expect(sum.currentProgress.fractionCompleted == 1)
  }

  @Test func `four times the turns take the same visits`() {
    func visits(turns: Int) -> Int {
      let gate = Promise<Bool>()
      let found = Promises.find(in: 0..<turns, on: .inline) { index in
        index == turns - 1 ? gate : Promises.makeSucceeded(with: false)
      }
      let visits = ProgressWalk(from: found).visits
      gate.cancel()
      return visits
    }
    #expect(visits(turns: 400) == visits(turns: 100))
  }

  // MARK: Futures in the middle of a chain

  @Test func `a link far upstream that continues with another future is followed`() async {
    let (source, inner) = (Promise<Int>(), Promise<Int>())
    let context = ManualContext()
    let link = source.mapToFuture(on: context) { _ in inner }
    let end = link.mapToValue(on: .inline) { $0 }
    let join = Promises.collect([end, end])
    var updates = end.progressUpdates.makeAsyncIterator()
    var updatesOfJoin = join.progressUpdates.makeAsyncIterator()
    _ = await (updates.next(), updatesOfJoin.next())
    source.succeed(with: 1)
    #expect(await updates.next()?.fractionCompleted == 0.5)
    #expect(await updatesOfJoin.next()?.fractionCompleted == 0.5)
    context.runAll()
    inner.report(completed: 1, of: 2)
    #expect(await updates.next()?.fractionCompleted == 0.75)
    #expect(await updatesOfJoin.next()?.fractionCompleted == 0.75)
    inner.succeed(with: 1)
    #expect(await updates.next()?.fractionCompleted == 1)
    #expect(await updatesOfJoin.next()?.fractionCompleted == 1)
    withExtendedLifetime(link) {}
  }

  @Test func `a waiting consumer learns of an inner future far upstream`() async {
    let (source, inner) = (Promise<Int>(), Promise<Int>())
    let context = ManualContext()
    let link = source.mapToFuture(on: context) { _ in inner }
    let end = link.mapToValue(on: .inline) { $0 }
    let join = Promises.collect([end, source.mapToValue(on: .inline) { $0 }])
    let seen = Log<Double>()
    let task = Task {
      for await progress in join.progressUpdates { seen.append(progress.fractionCompleted) }
    }
    #expect(await eventually { seen.entries == [0] })
    source.succeed(with: 1)
    #expect(await eventually { seen.entries == [0, 0.75] })
    context.runAll()
    // The consumer has read once more before the report.
    #expect(await eventually { !inner.storage.progressWatches.isEmpty })
    inner.report(completed: 1, of: 2)
    #expect(await eventually { seen.entries == [0, 0.75, 0.875] })
    inner.succeed(with: 1)
    await task.value
    #expect(seen.entries.last == 1)
    withExtendedLifetime(link) {}
  }
}

/// A collection that has more elements than it says.
private struct Understating: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { 4 }
  var count: Int { 2 }
  subscript(position: Int) -> Int { position }
}
