import Foundation
import Futures
import TestSupport
import Testing

/// What a third reading of the engine found.
@Suite("Findings of a third reading", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfThirdReadingTests {
  /// Starts each operation where it is asked to.
  private final class AtOnce: ExecutionContext {
    func execute(_ operation: Operation) { operation.start() }
  }

  @Test("20,000 handlers on a context that starts them at once run in order, in linear time")
  func contextThatStartsAtOnce() {
    let (context, promise, log) = (AtOnce(), Promise<Int>(), Log<Int>())
    for number in 0..<20_000 { promise.onSuccess(on: context) { _ in log.append(number) } }
    promise.succeed(with: 1)
    #expect(log.entries == Array(0..<20_000))
  }

  @Test("Handlers of several such contexts that settle one another all run, each in its order")
  func contextsThatStartAtOnce() {
    let contexts = (0..<20).map { _ in AtOnce() }
    let (first, second, log) = (Promise<Int>(), Promise<Int>(), Log<Int>())
    for number in 0..<200 {
      first.onSuccess(on: contexts[number % 20]) { _ in
        log.append(number)
        if number == 7 { second.succeed(with: 1) }
      }
      second.onSuccess(on: contexts[number % 20]) { _ in log.append(1_000 + number) }
    }
    first.succeed(with: 1)
    let entries = log.entries
    #expect(entries.count == 400)
    for index in 0..<20 {
      let own = entries.filter { $0 % 20 == index }
      #expect(own.filter { $0 < 1_000 } == Array(stride(from: index, to: 200, by: 20)))
      #expect(own.filter { $0 >= 1_000 } == Array(stride(from: 1_000 + index, to: 1_200, by: 20)))
    }
  }

  @Test("A closure waits while the next place is taken and followed: each future settles once")
  func placeThatIsFollowed() async throws {
    for _ in 0..<300 {
      let queue = DispatchQueue(label: "followed")
      let (promise, other, hasRun) = (Promise<Int>(), Promise<Int>(), Event())
      let first = promise.mapToValue(on: queue) { $0 }
      // Takes the next place. No other object holds it.
      _ = first.mapToValue(on: queue) { _ in hasRun.signal() }
      let third = first.mapToValue(on: queue) { $0 + 1 }
      let waiting = first.mapToValue(on: .inline) { number in try other.wait() + number }
      promise.succeed(with: 1)
      // The place is taken only in the first millisecond of a batch.
      _ = await hasRun.opened(within: .milliseconds(100))
      other.succeed(with: 1)
      #expect(try await third.value == 2)
      #expect(try await waiting.value == 2)
    }
  }

  @Test("A handler waits inside two such contexts for what waits for them: all settle")
  func waitInsideContexts() {
    let (first, second, promise, inner) = (AtOnce(), AtOnce(), Promise<Int>(), Promise<Int>())
    let settled = Promise<Int>()
    // The closure on `first` waits for one that waits in the line of `second`.
    let last = Box<Future<Int>?>(nil)
    let waiting = settled.mapToValue(on: first) { _ in try last.value!.wait() + 1 }
    last.value = settled.mapToValue(on: second) { $0 + 10 }
    let sum = Box(0)
    inner.onSuccess(on: second) { _ in
      settled.succeed(with: 1)
      sum.value = (try? waiting.wait()) ?? -1
    }
    promise.onSuccess(on: first) { _ in inner.succeed(with: 1) }
    promise.succeed(with: 1)
    #expect(sum.value == 12)
  }

  #if os(Linux) || os(macOS)
    @Test("The main thread waits for the end of a cancelled main-actor closure: it is told why not")
    func mainWaitsForItself() async {
      await #expect(processExitsWith: .failure) {
        await MainActor.run {
          let future = Promises.async { try? await Task.sleep(for: .seconds(600)) }
          future.cancel()
          future.waitUntilFinished()
        }
        exit(EXIT_SUCCESS)
      }
    }
  #endif

  @Test("A handler that waits for a dependency which is dropped runs", arguments: [false, true])
  func handlerWithDroppedDependency(standsForAnother: Bool) async {
    let (promise, source, hasRun) = (Promise<Int>(), Promise<Int>(), Event())
    var dependency: Promise<Int>? = Promise()
    let observer = promise.onSuccess(on: .inline) { _ in hasRun.signal() }
    observer.addDependency(dependency!)
    promise.succeed(with: 1)
    if standsForAnother { dependency?.fulfill(from: source) }
    dependency = nil
    if standsForAnother { source.succeed(with: 1) }
    #expect(await hasRun.opened())
  }

  @Test("A handler that is cancelled with its queue lets its dependencies go")
  func cancelledHandlerLetsGo() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let promise = Promise<Int>()
    let operation = BlockOperation {}
    let observer = promise.onSuccess(on: queue) { _ in }
    observer.addDependency(operation)
    operation.start()
    promise.succeed(with: 1)
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await eventually { observer.dependencies.isEmpty })
  }
}
