import Foundation
import Futures
import TestSupport
import Testing

/// What a future says of itself as an operation while its closure runs, and
/// after a start by hand.
@Suite("Readiness and execution", .timeLimit(.minutes(5)), .oneAtATime)
struct ExecutingLinkTests {
  /// What a closure saw of its own future.
  private struct Sight: Sendable, Equatable {
    let isReady: Bool
    let isExecuting: Bool
    let isFinished: Bool

    init(_ future: AnyFuture?) {
      isReady = future?.isReady ?? false
      isExecuting = future?.isExecuting ?? false
      isFinished = future?.isFinished ?? true
    }
  }

  /// A combinator with a closure.
  private struct Link: Sendable {
    let name: String
    let ending: FutureResult<Int>
    let make: @Sendable (Future<Int>, @escaping @Sendable () -> Void) -> AnyFuture

    static let all: [Link] = [
      Link(name: "mapToValue inline", ending: .success(1)) { future, body in
        future.mapToValue(on: .inline) { _ in body() }
      },
      Link(name: "mapToValue on a queue", ending: .success(1)) { future, body in
        future.mapToValue(on: .global()) { _ in body() }
      },
      Link(name: "mapToFuture", ending: .success(1)) { future, body in
        future.mapToFuture(on: .inline) { value in
          body()
          return Promises.makeSucceeded(with: value)
        }
      },
      Link(name: "mapResult", ending: .success(1)) { future, body in
        future.mapResult(on: .inline) { result in
          body()
          return result
        }
      },
      Link(name: "recover", ending: .failure(TestError.first)) { future, body in
        future.recover(on: .inline) { _ in
          body()
          return 1
        }
      },
      Link(name: "ensure", ending: .success(1)) { future, body in
        future.ensure(on: .global()) { _ in
          body()
          return true
        }
      },
    ]
  }

  @Test func `a link whose closure runs is ready and executing, and not finished`() async {
    for link in Link.all {
      let (promise, box, seen) = (Promise<Int>(), Box<AnyFuture?>(nil), Box<Sight?>(nil))
      let future = link.make(promise) { seen.value = Sight(box.value) }
      box.value = future
      promise.fulfill(with: link.ending)
      #expect(await eventually { future.isFinished }, "\(link.name)")
      let sight = seen.value
      box.value = nil
      #expect(sight?.isExecuting == true, "\(link.name)")
      #expect(sight?.isFinished == false, "\(link.name)")
      #expect(sight?.isReady == true, "\(link.name)")
    }
  }

  @Test func `run says ready and executing while its closure runs`() async {
    let (goOn, started, seen) = (Event(), Event(), Box<Sight?>(nil))
    let future = Promises.run(on: OperationQueue()) {
      started.signal()
      goOn.wait()
    }
    #expect(await started.opened())
    let sight = Sight(future)
    seen.value = sight
    goOn.signal()
    #expect(sight.isExecuting)
    #expect(!sight.isFinished)
    #expect(sight.isReady)
  }

  @Test func `a link that was cancelled while its closure runs is ready and executing`() async {
    let (goOn, started) = (Event(), Event())
    let future = Promises.run(on: OperationQueue()) {
      started.signal()
      goOn.wait()
    }
    #expect(await started.opened())
    future.cancel()
    #expect(future.isReady)
    #expect(future.isExecuting)
    #expect(!future.isFinished)
    goOn.signal()
    #expect(await eventually { future.isFinished })
    #expect(!future.isExecuting)
  }

  @Test func `a link that waits is neither ready nor executing`() {
    let promise = Promise<Int>()
    let link = promise.mapToValue(on: .inline) { $0 }
    #expect(!link.isReady)
    #expect(!link.isExecuting)
  }

  @Test func `a pending promise or link that is started by hand does not say executing`() {
    let promise = Promise<Int>()
    let link = promise.mapToValue(on: .inline) { $0 }
    let futures: [AnyFuture] = [promise, link]
    for future in futures {
      future.start()
      #expect(!future.isExecuting)
      #expect(!future.isFinished)
    }
    promise.succeed(with: 1)
    for future in futures {
      #expect(future.isFinished)
      #expect(!future.isExecuting)
    }
    #expect(link.result?.successValue == 1)
  }

  #if os(Linux) || os(macOS)
    @Test func `started by hand and then put in a queue, futures finish there in silence`() async {
      // Foundation warns, or ends the process.
      let result = await #expect(
        processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
      ) {
        let completions = Counter()
        for isSuspended in [false, true] {
          let queue = OperationQueue()
          queue.isSuspended = isSuspended
          let promises = (0..<20).map { _ in Promise<Int>() }
          for promise in promises {
            let link = promise.mapToValue(on: .inline) { $0 }
            for future in [promise, link] {
              future.completionBlock = { completions.add() }
              future.start()
              queue.addOperation(future)
            }
          }
          for promise in promises { promise.succeed(with: 1) }
          queue.isSuspended = false
          let isEmpty = await eventually { queue.operationCount == 0 }
          if !isEmpty || !promises.allSatisfy({ $0.isFinished }) { exit(EXIT_FAILURE) }
        }
        let haveRun = await eventually { completions.value == 80 }
        exit(haveRun ? EXIT_SUCCESS : EXIT_FAILURE)
      }
      let output = (result?.standardOutputContent ?? []) + (result?.standardErrorContent ?? [])
      let text = String(decoding: output, as: UTF8.self)
      #expect(!text.contains("***"), "\(text)")
    }
  #endif

  @Test func `put in a queue and started by hand while it is pending, a promise finishes there`()
    async
  {
    let queue = OperationQueue()
    let promise = Promises.make(promising: Int.self, in: queue)
    promise.start()
    #expect(!promise.isExecuting)
    promise.succeed(with: 1)
    #expect(await eventually { queue.operationCount == 0 })
    #expect(promise.isFinished)
  }
}
