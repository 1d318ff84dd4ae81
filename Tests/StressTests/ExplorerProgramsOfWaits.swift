#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing

  @Suite("Explored programs: threads that wait", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfWaits {
    private let explorer = Explorer(preemptions: 2, limit: size(2_000))

    @Test func `a thread that waits beside the settlement gets the value`() async throws {
      try await explorer.explore("wait beside succeed") { program in
        let gate = Promise<Int>()
        let link = gate.mapToValue(on: .inline) { $0 + 1 }
        let values = Log<Int?>()
        program.thread { values.append(try? link.wait()) }
        program.thread { gate.succeed(with: 1) }
        program.atEnd("it is the value") { values.entries == [2] }
      }
    }

    @Test func `a thread that waits beside the release of the promise gets an error`()
      async throws
    {
      try await explorer.explore("wait beside release") { program in
        let gate = Box<Promise<Int>?>(Promise<Int>())
        let link = gate.value!.mapToValue(on: .inline) { $0 + 1 }
        let values = Log<Int?>()
        program.thread { values.append(try? link.wait()) }
        program.thread { gate.value = nil }
        program.atEnd("it is no value") { values.entries == [nil] }
      }
    }

    @Test func `two threads that wait, one on a context, and a cancellation`() async throws {
      try await explorer.explore("waits beside cancel") { program in
        let context = program.context()
        let gate = Promise<Int>()
        let link = gate.mapToValue(on: context) { $0 + 1 }
        let ends = Counter()
        program.thread {
          _ = try? link.wait()
          ends.add()
        }
        program.thread { link.cancel() }
        gate.succeed(with: 1)
        program.atEnd("the wait has ended") { ends.value == 1 }
      }
    }

    @Test func `a wait with a timeout beside nothing ends, and leaves the future pending`()
      async throws
    {
      try await explorer.explore("a wait that times out") { program in
        let gate = Promise<Int>()
        let link = gate.mapToValue(on: .inline) { $0 }
        let ends = Counter()
        program.thread {
          _ = try? link.wait(timeout: .seconds(1_000))
          ends.add()
        }
        program.thread { link.onCompletion(on: .inline) { _ in } }
        program.atEnd("the wait has ended") {
          ends.value == 1 && !link.isFulfilled && !gate.isFulfilled
        }
      }
    }
  }

#endif
