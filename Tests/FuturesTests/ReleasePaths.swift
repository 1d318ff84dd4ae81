import Foundation
import Futures
import TestSupport
import Testing

/// An object that a user's closure captures; its release settles a promise and
/// waits for a consumer of it.
final class SettlesWhenReleased: Sendable {
  /// How the release waits.
  enum Wait: CaseIterable, Sendable {
    /// By means of its own, for a consumer on a queue.
    case byItself
    /// By `wait`, for a consumer on a queue.
    case forConsumerOnQueue
    /// By `wait`, for an inline consumer.
    case forInlineConsumer
  }

  /// Whether the consumer had its value in time; `nil` before the release.
  typealias Answer = Box<Bool?>

  private let promise = Promise<Int>()
  private let wait: Wait
  private let patience: Duration
  private let answer: Answer
  private let heard = Event()
  private let consumer: Future<Int>

  init(_ wait: Wait, within patience: Duration, answer: Answer) {
    self.wait = wait
    self.patience = patience
    self.answer = answer
    let heard = heard
    consumer =
      switch wait {
      case .forInlineConsumer: promise.mapToValue(on: .inline) { $0 }
      default:
        promise.mapToValue(on: ThreadContext()) { value in
          heard.signal()
          return value
        }
      }
  }

  deinit {
    promise.succeed(with: 1)
    switch wait {
    case .byItself: answer.value = heard.wait(patience)
    default: answer.value = (try? consumer.wait(timeout: patience)) == 1
    }
  }

  /// Does nothing; a closure that calls it captures the object.
  func touch() {}
}

/// A way in which the library releases what a user's closure captured.
struct ReleasePath: Sendable, CustomTestStringConvertible {
  typealias Make = @Sendable () -> SettlesWhenReleased

  let name: String
  /// Gives an object away, and returns what makes the library release it.
  let prepare: @Sendable (Make) -> @Sendable () -> Void

  var testDescription: String { name }

  init(_ name: String, _ prepare: @escaping @Sendable (Make) -> @Sendable () -> Void) {
    self.name = name
    self.prepare = prepare
  }

  /// A path on which a promise succeeds with 1, or ends in another way.
  private init(
    _ name: String, ending: Ending = .success,
    _ derive: @escaping @Sendable (Future<Int>, SettlesWhenReleased) -> AnyFuture
  ) {
    self.init(name) { make in
      let promise = Promise<Int>()
      _ = derive(promise, make())
      return { ending.settle(promise) }
    }
  }

  static let all = links + events + promises + works + cancellations + values

  /// The closures that make a future of a future.
  private static let links: [ReleasePath] = [
    ReleasePath("mapToValue, after it ran") { future, object in
      future.mapToValue(on: .inline) { _ in object.touch() }
    },
    ReleasePath("mapToValue, passed over", ending: .failure) { future, object in
      future.mapToValue(on: .inline) { _ in object.touch() }
    },
    ReleasePath("mapToValue on a context, after it ran") { future, object in
      future.mapToValue(on: ThreadContext()) { _ in object.touch() }
    },
    ReleasePath("compactMapToValue that returns nil") { future, object in
      future.compactMapToValue(on: .inline) { _ -> Int? in
        object.touch()
        return nil
      }
    },
    ReleasePath("mapToFuture") { future, object in
      future.mapToFuture(on: .inline) { value in
        object.touch()
        return Promises.makeSucceeded(with: value)
      }
    },
    ReleasePath("mapElementsToFuture") { future, object in
      future.mapToValue(on: .inline) { [$0, $0] }.mapElementsToFuture(on: .inline) { value in
        object.touch()
        return Promises.makeSucceeded(with: value)
      }
    },
    ReleasePath("mapResult") { future, object in
      future.mapResult(on: .inline) { result in
        object.touch()
        return result
      }
    },
    ReleasePath("ensure that fails") { future, object in
      future.ensure(on: .inline) { _ in
        object.touch()
        return false
      }
    },
    ReleasePath("recover, passed over") { future, object in
      future.recover(on: .inline) { _ in
        object.touch()
        return 1
      }
    },
    ReleasePath("recover, after it ran", ending: .failure) { future, object in
      future.recover(on: .inline) { _ in
        object.touch()
        return 1
      }
    },
    ReleasePath("recoverToFuture", ending: .failure) { future, object in
      future.recoverToFuture(on: .inline) { _ in
        object.touch()
        return Promises.makeSucceeded(with: 1)
      }
    },
    ReleasePath("mapError", ending: .failure) { future, object in
      future.mapError(on: .inline) { error in
        object.touch()
        return error
      }
    },
  ]

  /// The closures that only look.
  private static let events: [ReleasePath] = [
    ReleasePath("onSuccess, after it ran") { future, object in
      future.onSuccess(on: .inline) { _ in object.touch() }
    },
    ReleasePath("onSuccess, passed over", ending: .failure) { future, object in
      future.onSuccess(on: .inline) { _ in object.touch() }
    },
    ReleasePath("onFailure, passed over") { future, object in
      future.onFailure(on: .inline) { _ in object.touch() }
    },
    ReleasePath("onCompletion, after it ran") { future, object in
      future.onCompletion(on: .inline) { _ in object.touch() }
    },
    ReleasePath("onCompletion on a context, after it ran") { future, object in
      future.onCompletion(on: ThreadContext()) { _ in object.touch() }
    },
    ReleasePath("onCancel, passed over") { future, object in
      future.onCancel(on: .inline) { object.touch() }
    },
    ReleasePath("onCancel, after it ran", ending: .cancellation) { future, object in
      future.onCancel(on: .inline) { object.touch() }
    },
    ReleasePath("always, after it ran") { future, object in
      future.always(on: .inline) { object.touch() }
    },
  ]

  /// What a promise and a resolver keep.
  private static let promises: [ReleasePath] = [
    ReleasePath("onCancellationRequest of a promise that succeeds") { make in
      let promise = Promise<Int>()
      let object = make()
      promise.onCancellationRequest { object.touch() }
      return { promise.succeed(with: 1) }
    },
    ReleasePath("onCancellationRequest of a promise that is cancelled") { make in
      let promise = Promise<Int>()
      let object = make()
      promise.onCancellationRequest { object.touch() }
      return { promise.cancel() }
    },
    ReleasePath("onCancellationRequest of a resolver that succeeds") { make in
      let resolver = Box<Resolver<Int>?>(nil)
      let object = make()
      _ = Promises.withResolver(promising: Int.self) { made in
        made.onCancellationRequest { object.touch() }
        resolver.value = made
      }
      return { resolver.value?.succeed(with: 1) }
    },
    ReleasePath("a closure below a resolver that is dropped") { make in
      let resolver = Box<Resolver<Int>?>(nil)
      let object = make()
      Promises.withResolver(promising: Int.self) { resolver.value = $0 }
        .onCompletion(on: .inline) { _ in object.touch() }
      return { resolver.value = nil }
    },
    ReleasePath("a closure below a promise that is dropped") { make in
      let promise = Box<Promise<Int>?>(Promise<Int>())
      let object = make()
      _ = promise.value?.mapToValue(on: .inline) { _ in object.touch() }
      return { promise.value = nil }
    },
    ReleasePath("a closure below what wrap made, whose handler is called") { make in
      let handler = Box<(@Sendable (Int) -> Void)?>(nil)
      let object = make()
      Promises.wrap { handler.value = $0 }.onSuccess(on: .inline) { (_: Int) in object.touch() }
      return { handler.value?(1) }
    },
    ReleasePath("the completion block of a future that nobody holds") { make in
      let promise = Promise<Int>()
      let object = make()
      promise.mapToValue(on: .inline) { $0 }.completionBlock = { object.touch() }
      return { promise.succeed(with: 1) }
    },
    ReleasePath("an operation that a future depends on") { make in
      let promise = Promise<Int>()
      let object = make()
      let operation = BlockOperation {}
      operation.addExecutionBlock { object.touch() }
      let future = promise.mapToValue(on: .inline) { $0 }
      future.addDependency(operation)
      return {
        future.cancel()
        withExtendedLifetime(promise) {}
      }
    },
  ]

  /// Work that starts a chain.
  private static let works: [ReleasePath] = [
    ReleasePath("Promises.run, after it ran") { make in
      let object = make()
      let context = ManualContext()
      _ = Promises.run(on: context) { object.touch() }
      return { context.runAll() }
    },
    ReleasePath("Promises.run, dropped by its context") { make in
      let object = make()
      let context = ManualContext()
      _ = Promises.run(on: context) { object.touch() }
      return { context.dropAll() }
    },
    ReleasePath("Promises.run, cancelled before it starts") { make in
      let object = make()
      let context = ManualContext()
      let future = Promises.run(on: context) { object.touch() }
      return { future.cancel() }
    },
    ReleasePath("an element of a batch") { make in
      let object = make()
      let context = ManualContext()
      _ = Promises.run(on: context) { 1 }.mapToValue(on: context) { _ in object.touch() }
      return { context.runAll() }
    },
  ]

  /// What cancelling releases.
  private static let cancellations: [ReleasePath] = [
    ReleasePath("mapToValue, cancelled") { make in
      let promise = Promise<Int>()
      let object = make()
      let future = promise.mapToValue(on: .inline) { _ in object.touch() }
      return {
        future.cancel()
        withExtendedLifetime(promise) {}
      }
    },
    ReleasePath("two links below, the promise cancelled", ending: .cancellation) { future, object in
      future.mapToValue(on: .inline) { $0 }.mapToValue(on: .inline) { _ in object.touch() }
    },
    ReleasePath("mapToValue in a scope that is cancelled") { make in
      let promise = Promise<Int>()
      let object = make()
      let scope = CancellationScope()
      promise.mapToValue(on: .inline) { _ in object.touch() }.cancelled(by: scope)
      return {
        scope.cancel()
        withExtendedLifetime(promise) {}
      }
    },
    ReleasePath("mapToValue in a scope that cancels when it is released") { make in
      let promise = Promise<Int>()
      let object = make()
      let scope = Box<CancellationScope?>(CancellationScope(cancelsOnDeinit: true))
      if let scope = scope.value {
        promise.mapToValue(on: .inline) { _ in object.touch() }.cancelled(by: scope)
      }
      return {
        scope.value = nil
        withExtendedLifetime(promise) {}
      }
    },
    ReleasePath("the loser of a race") { make in
      let (one, two) = (Promise<Int>(), Promise<Int>())
      let object = make()
      let loser = two.mapToValue(on: .inline) { value in
        object.touch()
        return value
      }
      _ = one || loser
      return {
        one.succeed(with: 1)
        withExtendedLifetime(two) {}
      }
    },
  ]

  /// What is a result itself, or in one.
  private static let values: [ReleasePath] = [
    ReleasePath("the value of a closure whose future was cancelled meanwhile") { make in
      let promise = Promise<Int>()
      let own = Box<AnyFuture?>(nil)
      let object = Box<SettlesWhenReleased?>(make())
      own.value = promise.mapToValue(on: .inline) { _ -> SettlesWhenReleased? in
        own.value?.cancel()
        let value = object.value
        object.value = nil
        return value
      }
      return {
        promise.succeed(with: 1)
        own.value = nil
      }
    },
    ReleasePath("the value of a future that nobody holds") { make in
      let promise = Promise<Int>()
      let object = Box<SettlesWhenReleased?>(make())
      _ = promise.mapToValue(on: .inline) { _ -> SettlesWhenReleased? in
        let value = object.value
        object.value = nil
        return value
      }
      return { promise.succeed(with: 1) }
    },
    ReleasePath("the error that recover replaces") { make in
      struct Carrying: Error { let object: SettlesWhenReleased? }
      let promise = Promise<Int>()
      let object = Box<SettlesWhenReleased?>(make())
      _ = promise.mapToValue(on: .inline) { _ -> Int in
        let error = Carrying(object: object.value)
        object.value = nil
        throw error
      }.recover(on: .inline) { _ in 1 }
      return { promise.succeed(with: 1) }
    },
    ReleasePath("the value of an input of combine, which is cancelled") { make in
      let other = Promise<Int>()
      let target = Promises.combine(Promises.makeSucceeded(with: make()), other)
      return { withExtendedLifetime(other) { target.cancel() } }
    },
    ReleasePath("the values of a traversal that fails") { make in
      struct Failure: Error {}
      let object = Box<SettlesWhenReleased?>(make())
      return {
        _ = Promises.traverse([1, 2], on: .inline) { number -> Future<SettlesWhenReleased?> in
          if number == 2 { throw Failure() }
          let value = object.value
          object.value = nil
          return Promises.makeSucceeded(with: value)
        }
      }
    },
    ReleasePath("the fallback of a time limit, in time") { make in
      let promise = Promise<SettlesWhenReleased?>()
      _ = promise.timeout(after: .seconds(3600), fallback: make())
      return { promise.succeed(with: nil) }
    },
    ReleasePath("the value of a delay that is cancelled") { make in
      let late = Promises.makeSucceeded(with: make()).delay(for: .seconds(3600))
      return { late.cancel() }
    },
    ReleasePath("a value that a cache drops for a newer one") { make in
      let cache = SingleFlight<Int, SettlesWhenReleased?>(timeToLive: .seconds(60), maxCount: 1)
      let object = Box<SettlesWhenReleased?>(make())
      _ = cache.load(1, on: .inline) {
        let value = object.value
        object.value = nil
        return Promises.makeSucceeded(with: value)
      }
      return { _ = cache.load(2, on: .inline) { Promises.makeSucceeded(with: nil) } }
    },
    ReleasePath("the context of a link") { make in
      final class Immediate: ExecutionContext {
        let object: SettlesWhenReleased
        init(_ object: SettlesWhenReleased) { self.object = object }
        func execute(_ operation: Operation) { operation.start() }
      }
      let promise = Promise<Int>()
      _ = promise.mapToValue(on: Immediate(make())) { $0 }
      return { promise.succeed(with: 1) }
    },
  ]
}
