#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport
  import Testing

  /// What key-value observers hear of a promise that occupies its queue.
  @Suite("Key-value observation of blocking promises", .timeLimit(.minutes(5)), .oneAtATime)
  struct BlockingPromiseObservationTests {
    @Test("As on Apple's platforms, a blocking promise executes from its start until it settles")
    func executes() async {
      let queue = OperationQueue.make(isSuspended: true)
      let started = Event()
      let promise = Promises.makeBlocking(
        in: queue, promising: Int.self, on: .inline
      ) { _ in started.signal() }
      let recorder = KeyRecorder(of: promise)
      let place = KeyRecorder(of: queue.operations[0])
      queue.isSuspended = false
      #expect(await started.opened())
      #expect(await eventually { recorder.entries.count == 2 })
      #expect(recorder.entries == ["will isExecuting: false", "did isExecuting: true"])
      promise.succeed(with: 1)
      #expect(
        recorder.entries.suffix(4) == [
          "will isFinished: false", "will isExecuting: true", "did isExecuting: false",
          "did isFinished: true",
        ])
      #expect(await queue.isEmptyEventually())
      // The operation that stands in the queue for the promise.
      #expect(await eventually { place.values(of: "isFinished") == [true] })
      #expect(place.values(of: "isExecuting") == [true, false])
      #expect(recorder.mistakes.isEmpty && place.mistakes.isEmpty)
      recorder.stop()
      place.stop()
    }

    @Test("A queue's operations are cancelled: the place and the promise post it")
    func cancelled() async {
      let queue = OperationQueue.make(isSuspended: true)
      let promise = Promises.makeBlocking(
        in: queue, promising: Int.self, on: .inline
      ) { _ in }
      let recorder = KeyRecorder(of: promise)
      let place = KeyRecorder(of: queue.operations[0])
      queue.cancelAllOperations()
      for recorder in [recorder, place] {
        #expect(recorder.values(of: "isCancelled") == [true])
        #expect(recorder.mistakes.isEmpty)
      }
      #expect(recorder.values(of: "isFinished") == [true])
      queue.isSuspended = false
      #expect(await queue.isEmptyEventually())
      recorder.stop()
      place.stop()
    }
  }

#endif
