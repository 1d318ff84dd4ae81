import Foundation
import Futures
import TestSupport
import Testing

@Suite("Futures whose type does not matter", .timeLimit(.minutes(5)), .oneAtATime)
struct AnyFutureTests {
  @Test("the error: nil while pending and of a success, else why it failed")
  func error() {
    let promise = Promise<Int>()
    let pending: AnyFuture = promise
    #expect(pending.error == nil)
    promise.succeed(with: 1)
    #expect(pending.error == nil)
    let failed: AnyFuture = Promises.makeFailed(with: TestError.first, promising: Int.self)
    #expect(failed.error as? TestError == .first)
    let cancelled = Promise<Int>()
    cancelled.cancel()
    #expect(cancelled.error as? ProperationsError == .cancelled)
  }

  @Test("onCompletion of futures of several types: once each, in order, with the error if any")
  func onCompletion() async {
    let (number, text, gone) = (Promise<Int>(), Promise<String>(), Promise<Void>())
    let log = Log<String>()
    let all: [AnyFuture] = [number, text, gone]
    let end = Event()
    for (index, future) in all.enumerated() {
      future.onCompletion(on: .inline) { error in
        log.append("\(index) \(error.map { "\($0)" } ?? "done")")
      }
      let same = future.onCompletion(on: .inline) { _ in
        log.append("\(index) again")
        if index == 2 { end.signal() }
      }
      #expect(same === future)
    }
    number.succeed(with: 1)
    text.fail(with: TestError.first)
    gone.cancel()
    #expect(await end.opened())
    #expect(
      log.entries == [
        "0 done", "0 again", "1 first", "1 again", "2 \(ProperationsError.cancelled)", "2 again",
      ])
  }

  @Test("onCompletion of a settled future runs, on the main queue if no context is named")
  @MainActor
  func late() async {
    final class View {
      var error: (any Error)?
      var count = 0
    }
    let view = View()
    let end = Event()
    let failed: AnyFuture = Promises.makeFailed(with: TestError.first, promising: Int.self)
    failed.onCompletion { error in
      (view.error, view.count) = (error, view.count + 1)
      end.signal()
    }
    #expect(await end.opened())
    #expect(view.error as? TestError == .first && view.count == 1)
  }

  @Test("onCompletion of a future of a known type gives its result, as ever")
  func known() async throws {
    let seen = Log<Int>()
    let future = Promises.makeSucceeded(with: 3)
    let end = Event()
    future.onCompletion(on: .inline) { result in
      if let value = result.successValue { seen.append(value) }
    }.onCompletion(on: .inline) { _ in end.signal() }
    #expect(await end.opened())
    #expect(seen.entries == [3])
  }

  @Test("cancelled(by:) puts futures of several types in one scope")
  func scope() {
    let scope = CancellationScope()
    let all: [AnyFuture] = [Promise<Int>(), Promise<String>()]
    for future in all { #expect(future.cancelled(by: scope) === future) }
    scope.cancel()
    #expect(all.allSatisfy { $0.isCancelled })
  }

  @Test("an observer keeps no producer from being told that it is wanted no more")
  func noConsumer() {
    let promise = Promise<Int>()
    let told = Counter()
    promise.onCancellationRequest { told.add() }
    let link = promise.mapToValue(on: .inline) { $0 }
    (link as AnyFuture).onCompletion(on: .inline) { _ in }
    link.cancel()
    #expect(told.value == 1)
  }
}
