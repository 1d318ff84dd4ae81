import Foundation
import Futures
import TestSupport
import Testing

/// Foundation complains on standard error when an operation breaks its rules,
/// so silence is part of being a good citizen.
///
/// Each test looks at a process of its own.
@Suite("Silence on standard error", .timeLimit(.minutes(5)), .oneAtATime)
struct SilenceTests {
  #if os(Linux) || os(macOS)
    private func expectSilence(
      _ result: ExitTest.Result?, _ location: SourceLocation = #_sourceLocation
    ) {
      let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(!text.contains("***"), sourceLocation: location)
      // Swift Testing marks the stream with some bytes of its own, in one line.
      #expect(!text.contains("\n"), sourceLocation: location)
      #expect(text.utf8.count < 80, sourceLocation: location)
    }

    @Test(.guarantee(12)) func `promises settled in every way, everywhere, leave it empty`() async {
      let result = await #expect(
        processExitsWith: .success, observing: [\.standardErrorContent]
      ) {
        let queue = OperationQueue()
        for citizenship in Citizenship.allCases {
          for ending in Ending.allCases {
            for _ in 0..<50 {
              let promise = citizenship.make(queue)
              let dependent = BlockOperation {}
              dependent.addDependency(promise)
              queue.addOperation(dependent)
              promise.completionBlock = {}
              ending.settle(promise)
              ending.settle(promise)
            }
          }
        }
        let isEmpty = await eventually { queue.operationCount == 0 }
        exit(isEmpty ? EXIT_SUCCESS : EXIT_FAILURE)
      }
      expectSilence(result)
    }

    @Test(.guarantee(12)) func `cancelled, suspended, broken and dropped futures leave it empty`()
      async
    {
      let result = await #expect(
        processExitsWith: .success, observing: [\.standardErrorContent]
      ) {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        for index in 0..<100 {
          let promise = Citizenship.allCases[index % 5].make(queue)
          let link = promise.mapToValue(on: queue) { $0 }
          link.addDependency(BlockOperation {})
          if index.isMultiple(of: 3) { promise.succeed(with: 1) }
          if index.isMultiple(of: 2) { link.cancel() }
        }
        queue.cancelAllOperations()
        queue.isSuspended = false
        let isEmpty = await eventually { queue.operationCount == 0 }
        exit(isEmpty ? EXIT_SUCCESS : EXIT_FAILURE)
      }
      expectSilence(result)
    }

    @Test func `blocking on a queue that is needed traps with a message that says so`() async {
      let result = await #expect(
        processExitsWith: .failure, observing: [\.standardErrorContent]
      ) {
        let queue = OperationQueue()
        queue.name = "narrow"
        queue.maxConcurrentOperationCount = 1
        let done = Event()
        queue.addOperation {
          Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }.waitUntilFinished()
          done.signal()
        }
        await done.opened()
      }
      let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(text.contains("would never return"))
      #expect(text.contains("narrow"))
    }
  #endif
}
