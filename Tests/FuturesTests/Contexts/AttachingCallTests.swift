import Dispatch
import Foundation
import Futures
import TestSupport
import Testing

/// With a queue, a closure never runs inside the call that takes it.
///
/// Another thread may run it before the call returns. What cannot happen is
/// that the calling thread runs it, deeper in the same stack.
@Suite("The call that takes a closure", .timeLimit(.minutes(5)), .oneAtATime)
struct AttachingCallTests {
  /// Knows which thread is inside a call that takes a closure.
  private final class Call: Sendable {
    private let thread = Box<ObjectIdentifier?>(nil)
    /// How many closures ran, and how many of them inside the call.
    let (runs, violations) = (Counter(), Counter())

    private static var current: ObjectIdentifier { ObjectIdentifier(Thread.current) }

    /// Attaches something, and marks the calling thread meanwhile.
    func attaching<Output>(_ attach: () -> Output) -> Output {
      thread.value = Self.current
      defer { thread.value = nil }
      return attach()
    }

    /// What the closure that is attached does.
    func run() {
      if thread.value == Self.current { violations.add() }
      runs.add()
    }
  }

  /// A call that takes a closure.
  private struct Attaching: Sendable {
    let name: String
    let ending: FutureResult<Int>
    let attach: @Sendable (Future<Int>, ContextKind, Call) -> Void

    static let all: [Attaching] = [
      Attaching(name: "mapToValue", ending: .success(1)) { future, kind, call in
        switch kind {
        case .operationQueue(let queue): _ = future.mapToValue(on: queue) { _ in call.run() }
        case .dispatchQueue(let queue): _ = future.mapToValue(on: queue) { _ in call.run() }
        }
      },
      Attaching(name: "mapToFuture", ending: .success(1)) { future, kind, call in
        @Sendable func next(_ value: Int) -> Future<Int> {
          call.run()
          return Promises.makeSucceeded(with: value)
        }
        switch kind {
        case .operationQueue(let queue): _ = future.mapToFuture(on: queue, using: next)
        case .dispatchQueue(let queue): _ = future.mapToFuture(on: queue, using: next)
        }
      },
      Attaching(name: "onSuccess", ending: .success(1)) { future, kind, call in
        switch kind {
        case .operationQueue(let queue): future.onSuccess(on: queue) { _ in call.run() }
        case .dispatchQueue(let queue): future.onSuccess(on: queue) { _ in call.run() }
        }
      },
      Attaching(name: "always", ending: .success(1)) { future, kind, call in
        switch kind {
        case .operationQueue(let queue): future.always(on: queue) { call.run() }
        case .dispatchQueue(let queue): future.always(on: queue) { call.run() }
        }
      },
      Attaching(name: "recover", ending: .failure(TestError.first)) { future, kind, call in
        @Sendable func recover(_: any Error) -> Int {
          call.run()
          return 1
        }
        switch kind {
        case .operationQueue(let queue): _ = future.recover(on: queue, using: recover)
        case .dispatchQueue(let queue): _ = future.recover(on: queue, using: recover)
        }
      },
      Attaching(name: "onCancel", ending: .failure(ProperationsError.cancelled)) {
        future, kind, call in
        switch kind {
        case .operationQueue(let queue): future.onCancel(on: queue) { call.run() }
        case .dispatchQueue(let queue): future.onCancel(on: queue) { call.run() }
        }
      },
      Attaching(name: "run", ending: .success(1)) { _, kind, call in
        switch kind {
        case .operationQueue(let queue): _ = Promises.run(on: queue) { call.run() }
        case .dispatchQueue(let queue): _ = Promises.run(on: queue) { call.run() }
        }
      },
    ]
  }

  private enum ContextKind: Sendable {
    case operationQueue(OperationQueue)
    case dispatchQueue(DispatchQueue)

    // Operation queues do not keep theirs.
    private static let underlying = DispatchQueue(label: "underlying")

    static var all: [ContextKind] {
      let serial = OperationQueue()
      serial.maxConcurrentOperationCount = 1
      let onDispatch = OperationQueue()
      onDispatch.underlyingQueue = underlying
      return [
        .operationQueue(serial), .operationQueue(OperationQueue()), .operationQueue(onDispatch),
        .dispatchQueue(DispatchQueue(label: "serial")), .dispatchQueue(.global()),
      ]
    }

    /// Runs something as one of the context's closures.
    func run(_ body: @escaping @Sendable () -> Void) -> Future<Void> {
      switch self {
      case .operationQueue(let queue): Promises.run(on: queue, body)
      case .dispatchQueue(let queue): Promises.run(on: queue, body)
      }
    }
  }

  @Test func `on a queue, a settled future's closure does not run inside the attaching call`()
    async
  {
    for attaching in Attaching.all {
      for kind in ContextKind.all {
        let call = Call()
        let future = Promises.makeFulfilled(with: attaching.ending)
        call.attaching { attaching.attach(future, kind, call) }
        #expect(await eventually { call.runs.value == 1 }, "\(attaching.name)")
        #expect(call.violations.value == 0, "\(attaching.name)")
      }
    }
  }

  @Test func `attached on the queue itself, the closure runs after the attaching call too`()
    async
  {
    for attaching in Attaching.all {
      for kind in ContextKind.all {
        let call = Call()
        _ = kind.run {
          let future = Promises.makeFulfilled(with: attaching.ending)
          call.attaching { attaching.attach(future, kind, call) }
        }
        #expect(await eventually { call.runs.value == 1 }, "\(attaching.name)")
        #expect(call.violations.value == 0, "\(attaching.name)")
      }
    }
  }

  @Test func `settled by another thread meanwhile, the closure does not run inside the call`()
    async
  {
    for attaching in Attaching.all {
      for kind in ContextKind.all {
        for _ in 0..<20 {
          let (call, promise) = (Call(), Promise<Int>())
          let ending = attaching.ending
          Thread.detachNewThread { promise.fulfill(with: ending) }
          call.attaching { attaching.attach(promise, kind, call) }
          #expect(await eventually { call.runs.value == 1 }, "\(attaching.name)")
          #expect(call.violations.value == 0, "\(attaching.name)")
        }
      }
    }
  }

  @Test @MainActor func `on the main queue, attached there, it runs after the attaching call`()
    async
  {
    let call = Call()
    call.attaching {
      let (done, failed) = (
        Promises.makeSucceeded(with: 1), Promises.makeFailed(with: TestError.first) as Future<Int>
      )
      _ = done.mapToValue { _ in call.run() }
      done.onSuccess { _ in call.run() }
      done.always { call.run() }
      _ = failed.recover { _ in
        call.run()
        return 1
      }
      failed.onFailure { _ in call.run() }
      _ = Promises.run { call.run() }
      done.onSuccess(on: OperationQueue.main) { _ in call.run() }
      done.onSuccess(on: DispatchQueue.main) { _ in call.run() }
    }
    #expect(call.runs.value == 0)
    #expect(await eventually { call.runs.value == 8 })
    #expect(call.violations.value == 0)
  }

  @Test func `attached by an inline closure while its future settles, it runs after the call`()
    async
  {
    for kind in ContextKind.all {
      let (call, promise) = (Call(), Promise<Int>())
      promise.onSuccess(on: .inline) { value in
        call.attaching {
          for attaching in Attaching.all where attaching.ending.isSuccess {
            attaching.attach(promise, kind, call)
          }
        }
      }
      promise.succeed(with: 1)
      #expect(await eventually { call.runs.value == 5 })
      #expect(call.violations.value == 0)
    }
  }
}
