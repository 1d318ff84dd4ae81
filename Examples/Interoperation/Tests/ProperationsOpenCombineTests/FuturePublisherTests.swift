import Foundation
import OpenCombine
import Properations
import ProperationsOpenCombine
import TestSupport
import Testing

@Suite("Publishers of futures", .timeLimit(.minutes(1)))
struct FuturePublisherTests {
  /// What a subscriber has received.
  private enum Signal: Equatable {
    case value(Int)
    case finished
    case failed(TestError)
    case cancelled
    case otherError
  }

  private let log = Log<Signal>()

  private func subscribe(to future: Futures.Future<Int>) -> AnyCancellable {
    future.publisher.sink(
      receiveCompletion: { [log] in log.append(Self.signal($0)) },
      receiveValue: { [log] in log.append(.value($0)) })
  }

  private static func signal(_ completion: Subscribers.Completion<any Error>) -> Signal {
    switch completion {
    case .finished: return .finished
    case .failure(let error as TestError): return .failed(error)
    case .failure(ProperationsError.cancelled): return .cancelled
    case .failure: return .otherError
    }
  }

  @Test("The example of the page: a future in a chain of publishers, and back")
  func example() async throws {
    let number = Promises.makeSucceeded(with: 20)
    let sum = number.publisher
      .map { $0 * 2 }
      .zip(Just(2).setFailureType(to: (any Error).self))
      .map { $0 + $1 }
      .firstFuture()
    #expect(try await sum.value == 42)
  }

  @Test("A future that has settled before is published at once")
  func settledBefore() {
    _ = subscribe(to: Promises.makeSucceeded(with: 1))
    #expect(log.entries == [.value(1), .finished])
  }

  @Test("A failure is delivered as it is")
  func failure() {
    _ = subscribe(to: Promises.makeFailed(with: TestError.first))
    #expect(log.entries == [.failed(.first)])
  }

  @Test("A future that another thread settles is published there")
  func otherThread() async {
    let promise = Promise<Int>()
    let subscription = subscribe(to: promise)
    #expect(log.entries == [])
    Thread.detachNewThread { promise.succeed(with: 3) }
    #expect(await eventually { log.entries == [.value(3), .finished] })
    subscription.cancel()
  }

  @Test("Cancelling the only subscription cancels the future, and nothing is published")
  func cancellation() {
    let promise = Promise<Int>()
    let subscription = subscribe(to: promise.mapToValue(on: .inline) { $0 })
    subscription.cancel()
    #expect(promise.isCancelled)
    promise.succeed(with: 1)
    #expect(log.entries == [])
  }

  @Test("Cancelling one of two subscriptions leaves the future to the other")
  func twoSubscriptions() {
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .inline) { $0 }
    let first = subscribe(to: future)
    let second = subscribe(to: future)
    first.cancel()
    promise.succeed(with: 5)
    #expect(log.entries == [.value(5), .finished])
    second.cancel()
  }

  @Test("A cancelled future is a failure of its publisher")
  func cancelledFuture() {
    let promise = Promise<Int>()
    let subscription = subscribe(to: promise)
    promise.cancel()
    #expect(log.entries == [.cancelled])
    subscription.cancel()
  }

  @Test("A value waits for the demand, a failure does not")
  func demand() {
    let promise = Promise<Int>()
    let subscriber = PatientSubscriber()
    promise.publisher.subscribe(subscriber)
    promise.succeed(with: 9)
    #expect(subscriber.log.entries == [])
    subscriber.demand()
    #expect(subscriber.log.entries == ["9", "finished"])

    let other = PatientSubscriber()
    let failed: Futures.Future<Int> = Promises.makeFailed(with: TestError.first)
    failed.publisher.subscribe(other)
    #expect(other.log.entries == ["first"])
  }
}

/// A subscriber that demands nothing until it is told to.
private final class PatientSubscriber: Subscriber {
  let log = Log<String>()
  private var subscription: (any Subscription)?

  func demand() { subscription?.request(.unlimited) }

  func receive(subscription: any Subscription) { self.subscription = subscription }

  func receive(_ input: Int) -> Subscribers.Demand {
    log.append("\(input)")
    return .none
  }

  func receive(completion: Subscribers.Completion<any Error>) {
    switch completion {
    case .finished: log.append("finished")
    case .failure(let error): log.append("\(error)")
    }
  }
}
