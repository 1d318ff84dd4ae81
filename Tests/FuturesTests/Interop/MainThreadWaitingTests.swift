import Foundation
import Futures
import TestSupport
import Testing

/// How long the process of a wait lives that hangs.
private let patience = Event.patience

/// Waits on the main thread and ends the process: as succeeded if the outcome
/// is right.
///
/// (By `_exit`: the leak sanitizer would look at a process that ends while its futures
/// are pending, with references to them in marked pointers, and take them for lost.)
@MainActor private func wait<Value>(
  for future: Future<Value>, isRight: (FutureResult<Value>) -> Bool
) {
  OwnProcess.fail(after: patience)
  let result = FutureResult { try future.wait() }
  _exit(isRight(result) ? EXIT_SUCCESS : EXIT_FAILURE)
}

/// Whether a wait was refused because it would block the main queue.
private func isRefused<Value>(_ result: FutureResult<Value>) -> Bool {
  result.failureValue as? ProperationsError == .wouldDeadlock(queue: "the main queue")
}

/// Every wait has a process of its own, so a wait that hangs blocks no main
/// thread but that one.
@Suite("Waits on the main thread that must end", .timeLimit(.minutes(5)), .oneAtATime)
struct MainThreadRefusalTests {
  #if os(Linux) || os(macOS)
    @Test func `mapElementsToFuture with a closure on main: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let futures = Promises.makeSucceeded(with: [1, 2]).mapElementsToFuture {
            Promises.makeSucceeded(with: $0)
          }
          wait(for: futures, isRight: isRefused)
        }
      }
    }

    @Test func `mapElementsToFuture with a closure on main, the elements to come: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let futures = later().mapToValue(on: .inline) { [$0, $0] }
            .mapElementsToFuture { Promises.makeSucceeded(with: $0) }
          wait(for: futures, isRight: isRefused)
        }
      }
    }

    @Test func `traversing one that needs main and one that succeeds: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let other = later()
          let all = Promises.traverse([0, 1], on: .inline) { $0 == 0 ? Promises.run { 7 } : other }
          wait(for: all, isRight: isRefused)
        }
      }
    }

    @Test func `mapToFuture whose inner future needs main: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let future = later().mapToFuture(on: .global()) { value in Promises.run { value } }
          wait(for: future, isRight: isRefused)
        }
      }
    }

    @Test func `recoverToFuture whose inner future needs main: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let future = later().mapToValue(on: .inline) { _ -> Int in throw TestError.first }
            .recoverToFuture(on: .global()) { _ in Promises.run { 1 } }
          wait(for: future, isRight: isRefused)
        }
      }
    }

    @Test func `a promise that is to settle like a future which needs main, later: refused`() async
    {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let promise = Promise<Int>()
          later().onSuccess(on: .inline) { value in
            promise.fulfill(from: Promises.run { value })
          }
          wait(for: promise, isRight: isRefused)
        }
      }
    }

    @Test func `a future that depends on one which needs main: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let future = later().mapToValue(on: .global()) { $0 }
          future.addDependency(later().mapToValue { $0 } as Operation)
          wait(for: future, isRight: isRefused)
        }
      }
    }

    @Test func `a future that depends on an operation of the main queue: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let operation = BlockOperation {}
          let future = later().mapToValue(on: .global()) { $0 }
          future.addDependency(operation)
          OperationQueue.main.addOperation(operation)
          wait(for: future, isRight: isRefused)
        }
      }
    }

    @Test func `a closure on main two links above: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let future = later().mapToValue { $0 }.mapToValue(on: .global()) { $0 }
            .mapToValue(on: .inline) { $0 }
          wait(for: future, isRight: isRefused)
        }
      }
    }

    @Test func `a cancelled future whose async cleanup is on the main actor and goes on: traps`()
      async
    {
      await #expect(processExitsWith: .failure) {
        await MainActor.run {
          let future = Promises.makeSucceeded(with: 1).always(perform: { @MainActor () async in
            try? await Task.sleep(for: .seconds(600))
          })
          future.cancel()
          // A call that hangs ends the process as succeeded.
          Thread {
            Thread.sleep(forTimeInterval: 10)
            _exit(EXIT_SUCCESS)
          }.start()
          future.waitUntilFinished()
        }
        _exit(EXIT_SUCCESS)
      }
    }

    @Test func `a race of two that both need main: refused`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          wait(for: later().mapToValue { $0 } || later().mapToValue { $0 }, isRight: isRefused)
        }
      }
    }
  #endif
}

@Suite("Waits on the main thread that are not refused", .timeLimit(.minutes(5)), .oneAtATime)
struct MainThreadWaitingTests {
  #if os(Linux) || os(macOS)
    @Test func `the future of an onSuccess on main: gets the value`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          wait(for: later().onSuccess { _ in }) { $0.successValue == 1 }
        }
      }
    }

    @Test func `the future of an onCompletion on main: gets the value`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          wait(for: later().onCompletion { _ in }.mapToValue(on: .inline) { $0 }) {
            $0.successValue == 1
          }
        }
      }
    }

    @Test func `a future that has an onSuccess on main beside: gets the value`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let future = later()
          future.onSuccess { _ in }
          _ = future.mapToValue { $0 }
          wait(for: future) { $0.successValue == 1 }
        }
      }
    }

    @Test func `a timeout with a fallback over a future that needs main: gets the fallback`() async
    {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let future = Promises.run { 1 }.timeout(after: .milliseconds(50), fallback: 7)
          wait(for: future) { $0.successValue == 7 }
        }
      }
    }

    @Test func `a timeout over a future that needs main: fails with timedOut`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let future = Promises.run { 1 }.timeout(after: .milliseconds(50))
          wait(for: future) {
            $0.failureValue as? ProperationsError == .timedOut(after: .milliseconds(50))
          }
        }
      }
    }

    @Test func `a race of one that needs main and one that wins: gets the value`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          wait(for: Promises.race([Promises.run { 7 }, later()])) { $0.successValue == 1 }
        }
      }
    }

    @Test func `the alternative of one that needs main: gets the value`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          wait(for: later().mapToValue { _ in 7 } || later()) { $0.successValue == 1 }
        }
      }
    }

    @Test func `firstCompleted of one that needs main and one that fails: gets the error`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let failing = later().mapToValue(on: .inline) { _ -> Int in throw TestError.first }
          wait(for: Promises.firstCompleted([Promises.run { 7 }, failing])) {
            $0.failureValue as? TestError == .first
          }
        }
      }
    }

    @Test func `traversing one that needs main and one that fails: gets the error`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let failing = later().mapToValue(on: .inline) { _ -> Int in throw TestError.first }
          let all = Promises.traverse([0, 1], on: .inline) {
            $0 == 0 ? Promises.run { 7 } : failing
          }
          wait(for: all) { $0.failureValue as? TestError == .first }
        }
      }
    }

    @Test func `mapElementsToFuture, one needs main and one fails: gets the error`() async {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let failing = later().mapToValue(on: .inline) { _ -> Int in throw TestError.first }
          let all = Promises.makeSucceeded(with: [0, 1]).mapElementsToFuture(on: .inline) {
            $0 == 0 ? Promises.run { 7 } : failing
          }
          wait(for: all) { $0.failureValue as? TestError == .first }
        }
      }
    }

    @Test func `collecting one that needs main and one that fails, failing fast: gets the error`()
      async
    {
      await #expect(processExitsWith: .success) {
        await MainActor.run {
          let failing = later().mapToValue(on: .inline) { _ -> Int in throw TestError.first }
          wait(for: Promises.collect([Promises.run { 7 }, failing], failingFast: true)) {
            $0.isFailure && !isRefused($0)
          }
        }
      }
    }
  #endif
}
