#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN

  import Foundation
  import Futures
  import FuturesTestSupport
  import TestSupport
  import Testing

  /// What key-value observers hear of a future: see `Futures+Darwin.swift`.
  @Suite("Key-value observation of operations of futures", .timeLimit(.minutes(5)), .oneAtATime)
  struct KeyObservationTests {
    @Test("As on Apple's platforms, a promise in no queue succeeds: both changes, nested")
    func succeeds() {
      let promise = Promise<Int>()
      let recorder = KeyRecorder(of: promise)
      promise.succeed(with: 1)
      #expect(
        recorder.entries == [
          "will isFinished: false", "will isReady: false", "did isReady: true",
          "did isFinished: true",
        ])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("A promise is cancelled: isCancelled is posted too, isFinished last")
    func cancelled() {
      let promise = Promise<Int>()
      let recorder = KeyRecorder(of: promise)
      promise.cancel()
      promise.cancel()
      #expect(
        recorder.entries == [
          "will isFinished: false", "will isCancelled: false", "will isReady: false",
          "did isReady: true", "did isCancelled: true", "did isFinished: true",
        ])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("A closure runs: the future executes before it, and no longer when it has finished")
    func runs() {
      let context = ManualContext()
      let promise = Promise<Int>()
      let link = promise.mapToValue(on: context) { $0 + 1 }
      let recorder = KeyRecorder(of: link)
      promise.succeed(with: 1)
      #expect(recorder.entries.isEmpty)
      context.runAll()
      #expect(
        recorder.entries == [
          "will isExecuting: false", "will isReady: false", "did isReady: true",
          "did isExecuting: true", "will isFinished: false", "will isExecuting: true",
          "did isExecuting: false", "did isFinished: true",
        ])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("Cancelled while its closure runs: cancelled at once, finished when the closure returns")
    func cancelledWhileRunning() {
      let promise = Promise<Int>()
      let during = Log<String>()
      let link = Box<Future<Int>?>(nil)
      let recorder = Box<KeyRecorder?>(nil)
      link.value = promise.mapToValue(on: .inline) { value in
        link.value?.cancel()
        for entry in recorder.value?.entries.suffix(2) ?? [] { during.append(entry) }
        return value
      }
      let future = link.value!
      recorder.value = KeyRecorder(of: future)
      promise.succeed(with: 1)
      #expect(during.entries == ["will isCancelled: false", "did isCancelled: true"])
      #expect(
        recorder.value?.entries.suffix(4) == [
          "will isFinished: false", "will isExecuting: true", "did isExecuting: false",
          "did isFinished: true",
        ])
      #expect(recorder.value?.mistakes == [])
      recorder.value?.stop()
      link.value = nil
    }

    @Test("A closure returns a pending future: executing ends, and the future finishes later")
    func waitsForInner() {
      let (promise, inner) = (Promise<Int>(), Promise<Int>())
      let link = promise.mapToFuture(on: .inline) { _ in inner }
      let delayed = promise.delay(for: .seconds(3600))
      let recorder = KeyRecorder(of: link)
      let other = KeyRecorder(of: delayed)
      promise.succeed(with: 1)
      for recorder in [recorder, other] {
        #expect(recorder.values(of: "isExecuting") == [true, false])
        #expect(recorder.values(of: "isFinished") == [])
        #expect(recorder.mistakes.isEmpty)
      }
      inner.succeed(with: 2)
      delayed.cancel()
      for recorder in [recorder, other] {
        #expect(recorder.values(of: "isExecuting") == [true, false])
        #expect(recorder.values(of: "isFinished") == [true])
        #expect(recorder.mistakes.isEmpty)
        recorder.stop()
      }
    }

    @Test("In a queue: ready when it has settled, finished when the queue has started it")
    func inQueue() async {
      let queue = OperationQueue()
      queue.isSuspended = true
      let promise = Promise<Int>()
      let recorder = KeyRecorder(of: promise)
      queue.addOperation(promise)
      promise.succeed(with: 1)
      #expect(recorder.values(of: "isReady").contains(true))
      #expect(recorder.values(of: "isFinished") == [])
      queue.isSuspended = false
      #expect(await eventually { recorder.values(of: "isFinished") == [true] })
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("Only read while pending: ready at once, finished late, each of them posted")
    func read() async {
      let promise = Promise<Int>()
      #expect(!promise.isReady)
      let recorder = KeyRecorder(of: promise)
      promise.succeed(with: 1)
      #expect(recorder.values(of: "isReady") == [true])
      #expect(await eventually { recorder.values(of: "isFinished") == [true] })
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("An observer cancels before the change: it wins, and every pair is ended")
    func observerWins() {
      let promise = Promise<Int>()
      let calls = Counter()
      let recorder = KeyRecorder(of: promise) { entry in
        if calls.add() == 1 { promise.cancel() }
      }
      #expect(!promise.succeed(with: 1))
      #expect(promise.isCancelled)
      #expect(recorder.mistakes.isEmpty)
      #expect(recorder.values(of: "isFinished") == [true, true])
      recorder.stop()
    }

    @Test("An observer settles another future: that has taken effect before its call returns")
    func observerSettles() {
      let promise = Promise<Int>()
      let seen = Log<Bool>()
      // In a step of the work loop, too.
      let source = Promise<Int>()
      let link = source.mapToValue(on: .inline) { $0 }.ensure(on: .inline) { _ in true }
      for future in [promise, link] {
        let other = Promise<Int>()
        let passed = other.recover(on: .inline) { _ in 0 }
        let recorder = KeyRecorder(of: future) { entry in
          guard entry == "did isFinished: true" else { return }
          other.succeed(with: 1)
          seen.append(passed.isFulfilled)
        }
        if future === promise { promise.succeed(with: 1) } else { source.succeed(with: 1) }
        #expect(recorder.mistakes.isEmpty)
        recorder.stop()
      }
      #expect(seen.entries == [true, true])
    }

    @Test("An observer of the finish waits for a future downstream: it gets the value")
    func observerWaits() {
      let promise = Promise<Int>()
      let below = promise.mapToValue(on: .inline) { $0 + 1 }
      let seen = Log<Int>()
      let recorder = KeyRecorder(of: promise) { entry in
        if entry == "did isFinished: true", let value = try? below.wait(timeout: .seconds(60)) {
          seen.append(value)
        }
      }
      promise.succeed(with: 1)
      #expect(seen.entries == [2])
      recorder.stop()
    }

    @Test("An observed handler that its maker dropped: its finish is posted")
    func dropped() {
      let promise = Promise<Int>()
      let recorder = KeyRecorder(of: promise.onSuccess(on: .inline) { _ in })
      promise.succeed(with: 1)
      #expect(recorder.values(of: "isFinished") == [true])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("Many threads settle, cancel and run one future: every pair is ended, one finish is seen")
    func race() async {
      struct Subject: Sendable {
        let promise = Promise<Int>()
        let link: Future<Int>
        let recorders: [KeyRecorder]

        init() {
          link = promise.mapToValue(on: .global()) { $0 }
          recorders = [KeyRecorder(of: promise), KeyRecorder(of: link)]
        }
      }
      let ended = await RaceHarness(threads: 4, rounds: 300).run { _ in
        Subject()
      } act: { subject, thread in
        switch thread {
        case 0: subject.promise.succeed(with: 1)
        case 1: subject.promise.cancel()
        case 2: subject.link.cancel()
        default: _ = subject.link.isReady
        }
      } check: { subject, round in
        let isOver = eventuallyBlocking { subject.link.isFinished && subject.promise.isFinished }
        for recorder in subject.recorders {
          let isPosted = eventuallyBlocking {
            recorder.values(of: "isFinished").last == true && recorder.mistakes.isEmpty
          }
          if !isOver || !isPosted {
            Issue.record("round \(round): \(recorder.entries), \(recorder.mistakes)")
          }
          recorder.stop()
        }
      }
      #expect(ended)
    }
  }

#endif
