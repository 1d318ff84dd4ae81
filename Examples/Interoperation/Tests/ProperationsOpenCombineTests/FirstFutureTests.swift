import Foundation
import OpenCombine
import Properations
import ProperationsOpenCombine
import TestSupport
import Testing

@Suite("Futures of publishers", .timeLimit(.minutes(1)))
struct FirstFutureTests {
  @Test("The first of several values is the future's value")
  func first() throws {
    #expect(try [1, 2, 3].publisher.firstFuture().result?.get() == 1)
  }

  @Test("A publisher that finishes without a value gives nil")
  func empty() throws {
    let future = Empty<Int, Never>().firstFuture()
    #expect(try future.result?.get() == .some(nil))
  }

  @Test("The publisher's failure is the future's failure")
  func failure() {
    let future = Fail<Int, TestError>(error: .second).firstFuture()
    #expect(future.error as? TestError == .second)
  }

  @Test("The first value ends the subscription, on whatever thread it comes")
  func subscriptionEnds() async throws {
    let cancels = Counter()
    let subject = PassthroughSubject<Int, Never>()
    let future = subject.handleEvents(receiveCancel: { cancels.add() }).firstFuture()
    #expect(!future.isFulfilled)
    let sender = Sender(subject)
    Thread.detachNewThread { sender.send(7) }
    #expect(try await future.value == 7)
    #expect(await eventually { cancels.value == 1 })
  }

  @Test("Cancelling the future cancels the subscription")
  func cancellation() {
    let cancels = Counter()
    let subject = PassthroughSubject<Int, Never>()
    let future = subject.handleEvents(receiveCancel: { cancels.add() }).firstFuture()
    future.cancel()
    #expect(future.isCancelled)
    #expect(cancels.value == 1)
    subject.send(1)
    #expect(future.isCancelled)
  }

  @Test("A publisher that drops its subscriber breaks the promise")
  func dropped() async {
    let future = Forgetful().firstFuture()
    let error = await #expect(throws: ProperationsError.self) { try await future.value }
    guard case .brokenPromise? = error else {
      Issue.record("The error is \(String(describing: error)).")
      return
    }
  }
}

/// Lets another thread send.
private struct Sender: @unchecked Sendable {
  // Sendable: a subject may be used on any thread.
  private let subject: PassthroughSubject<Int, Never>

  init(_ subject: PassthroughSubject<Int, Never>) { self.subject = subject }

  func send(_ value: Int) { subject.send(value) }
}

/// A publisher that forgets its subscribers.
private struct Forgetful: Publisher {
  typealias Output = Int
  typealias Failure = Never

  func receive<Downstream: Subscriber>(subscriber: Downstream)
  where Downstream.Input == Int, Downstream.Failure == Never {}
}
