#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing

  @Suite("Explored programs: cycles", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfCycles {
    private let explorer = Explorer(preemptions: 2, limit: size(2_000))

    @Test func `closures of two threads that wait for each other's futures end`() async throws {
      try await explorer.explore("mutual waits") { program in
        let gates = [Promise<Int>(), Promise<Int>()]
        let futures = [Box<Future<Int>?>(nil), Box<Future<Int>?>(nil)]
        for index in [0, 1] {
          futures[index].value = gates[index].mapToValue(on: .inline) { _ in
            try futures[1 - index].value?.wait() ?? 0
          }
          program.thread { gates[index].succeed(with: 1) }
        }
        program.atEnd("both settle") { futures.allSatisfy { $0.value!.isFulfilled } }
      }
    }

    @Test func `a closure that waits beside a dependency on its future`() async throws {
      try await explorer.explore("a wait beside a dependency") { program in
        let (gate, second) = (Promise<Int>(), Promise<Int>())
        let other = second.mapToValue(on: .inline) { $0 }
        let waiting = gate.mapToValue(on: .inline) { _ in try other.wait() }
        program.thread { gate.succeed(with: 1) }
        program.thread {
          other.addDependency(waiting)
          second.succeed(with: 2)
        }
        program.atEnd("both settle") { waiting.isFulfilled && other.isFulfilled }
      }
    }

    @Test func `three futures that depend on each other in a ring`() async throws {
      try await explorer.explore("a ring of dependencies") { program in
        let gates = (0..<3).map { _ in Promise<Int>() }
        let futures = gates.map { $0.mapToValue(on: .inline) { $0 } }
        for index in 0..<3 {
          program.thread { futures[index].addDependency(futures[(index + 1) % 3]) }
        }
        program.afterwards { for gate in gates { gate.succeed(with: 1) } }
        program.atEnd("all settle") { futures.allSatisfy(\.isFulfilled) }
      }
    }

    @Test func `a promise linked to a future beside the future's dependency on it`() async throws {
      try await explorer.explore("a link beside a dependency") { program in
        let gate = Promise<Int>()
        let derived = gate.mapToValue(on: .inline) { $0 }
        let promise = Promise<Int>()
        program.thread { promise.fulfill(from: derived) }
        program.thread { derived.addDependency(promise) }
        program.afterwards { gate.succeed(with: 1) }
        program.atEnd("both settle") { derived.isFulfilled && promise.isFulfilled }
      }
    }

    @Test func `a released promise linked to a future beside a dependency below it`()
      async throws
    {
      try await explorer.explore("a released link beside a dependency") { program in
        let gate = Promise<Int>()
        let derived = gate.mapToValue(on: .inline) { $0 }
        let promise = Box<Promise<Int>?>(Promise<Int>())
        let below = promise.value!.mapToValue(on: .inline) { $0 }
        program.thread {
          promise.value?.fulfill(from: derived)
          promise.value = nil
        }
        program.thread { derived.addDependency(below) }
        program.afterwards { gate.succeed(with: 1) }
        program.atEnd("both settle") { derived.isFulfilled && below.isFulfilled }
      }
    }

    @Test func `two promises linked to each other, one of them released`() async throws {
      try await explorer.explore("mutual links") { program in
        let first = Box<Promise<Int>?>(Promise<Int>())
        let second = Promise<Int>()
        let source = first.value!
        let consumer = source.mapToValue(on: .inline) { $0 }
        let held = Box<Promise<Int>?>(source)
        program.thread {
          first.value?.fulfill(from: second)
          first.value = nil
        }
        program.thread {
          if let source = held.value { second.fulfill(from: source) }
          held.value = nil
        }
        program.atEnd("all settle") { consumer.isFulfilled && second.isFulfilled }
      }
    }

    @Test func `an inner future that depends on its outer one beside the release`() async throws {
      try await explorer.explore("an inner future's dependency") { program in
        let (gate, second) = (Promise<Int>(), Promise<Int>())
        let inner = second.mapToValue(on: .inline) { $0 }
        let outer = Box<Future<Int>?>(gate.mapToFuture(on: .inline) { _ in inner })
        let consumer = outer.value!.mapToValue(on: .inline) { $0 }
        program.thread { gate.succeed(with: 1) }
        program.thread { inner.addDependency(consumer) }
        program.thread { outer.value = nil }
        program.afterwards { second.succeed(with: 2) }
        program.atEnd("both settle") { consumer.isFulfilled && inner.isFulfilled }
      }
    }

    @Test func `a dependency that comes beside its own removal and the settlements`()
      async throws
    {
      try await explorer.explore("a dependency comes and goes") { program in
        let (gate, second) = (Promise<Int>(), Promise<Int>())
        let future = gate.mapToValue(on: .inline) { $0 }
        program.thread {
          future.addDependency(second)
          future.removeDependency(second)
        }
        program.thread { gate.succeed(with: 1) }
        program.thread { second.succeed(with: 2) }
        program.atEnd("the future has settled") { future.isFulfilled && future.isFinished }
      }
    }

    // MARK: Who still wants a value

    @Test func `two consumers that are cancelled at once cancel the producer`() async throws {
      try await explorer.explore("the last consumers") { program in
        let gate = Promise<Int>()
        let consumers = (0..<2).map { _ in gate.mapToValue(on: .inline) { $0 } }
        for consumer in consumers { program.thread { consumer.cancel() } }
        program.atEnd("the producer is cancelled") { gate.isCancelled }
      }
    }

    @Test func `a promise that is released while others begin to wait for it is broken`()
      async throws
    {
      try await explorer.explore("a release beside waiters") { program in
        let promise = Box<Promise<Int>?>(Promise<Int>())
        let gate = Promise<Int>()
        let derived = gate.mapToValue(on: .inline) { $0 }
        let made = Log<AnyFuture>()
        program.thread {
          guard let promise = promise.value else { return }
          made.append(Promises.make(awaitingCompletionOf: promise, on: .inline) { _ in })
          derived.addDependency(promise)
          let operation = BlockOperation()
          operation.addDependency(promise)
          made.append(promise.future)
        }
        program.thread { promise.value = nil }
        program.thread { gate.succeed(with: 1) }
        program.atEnd("all settle") {
          derived.isFulfilled && made.entries.allSatisfy { $0.isFulfilled && $0.isFinished }
        }
      }
    }
  }

#endif
