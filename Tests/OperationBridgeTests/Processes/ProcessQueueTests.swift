import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

#if os(Linux) || os(macOS)

  @Suite("Processes on queues", .timeLimit(.minutes(5)), .oneAtATime)
  struct ProcessQueueTests {
    /// The seed's example.
    final class ProcessCoordinator: Sendable {
      private let queue: OperationQueue = {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
      }()

      func enqueue(process: Process) -> Future<Process> {
        Promises.makeBlocking(in: queue, promising: Process.self) { promise in
          process.terminationHandler = { process in
            promise.succeed(with: process)
          }
          try process.run()
        }
      }
    }

    /// A directory whose existence means that a process is at work in it.
    private static func exclusive(_ directory: String) -> Process {
      Process.shell("mkdir '\(directory)' || exit 9; sleep 0.01; rmdir '\(directory)'")
    }

    private static var place: String {
      FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    }

    @Test("Ten on a serial queue, each of which needs to be alone: all succeed")
    func serial() async throws {
      let (queue, place) = (OperationQueue.make(), Self.place)
      let futures = (0..<10).map { _ in Self.exclusive(place).runAsFuture(in: queue) }
      #expect(try await Promises.collect(futures).value == Array(repeating: 0, count: 10))
      #expect(await queue.isEmptyEventually())
    }

    @Test("The coordinator of the seed, with six that need to be alone: one after the other")
    func coordinator() async throws {
      let (coordinator, place) = (ProcessCoordinator(), Self.place)
      let processes = (0..<6).map { _ in Self.exclusive(place) }
      let futures = processes.map { coordinator.enqueue(process: $0) }
      let ended = try await Promises.collect(futures).value
      #expect(ended.map { $0.terminationStatus } == Array(repeating: 0, count: 6))
      #expect(zip(ended, processes).allSatisfy { $0 === $1 })
    }

    @Test("The coordinator with a program that does not exist: that one fails, the next succeeds")
    func coordinatorFails() async throws {
      let coordinator = ProcessCoordinator()
      let (bad, good) = (
        coordinator.enqueue(process: .missing()), coordinator.enqueue(process: .shell("exit 0"))
      )
      #expect(await bad.completion.isFailure)
      #expect(try await good.value.terminationStatus == 0)
    }

    @Test("Fifty short ones on a queue with limit four: all succeed, never more than four")
    func fifty() async throws {
      let queue = OperationQueue.make(limit: 4)
      let processes = (0..<50).map { Process.shell("exit \($0)") }
      let futures = processes.map { $0.runAsFuture(in: queue) }
      let most = Protected(0)
      #expect(
        await eventually {
          let running = processes.count { $0.isRunning }
          most.change { $0 = max($0, running) }
          return futures.allSatisfy { $0.isFulfilled }
        })
      #expect(try await Promises.collect(futures).value == (0..<50).map { Int32($0) })
      #expect(most.value <= 4)
    }

    @Test("The queue is cancelled, the process goes on: the next one is launched when it has ended")
    func cancelledButAlive() async throws {
      let queue = OperationQueue.make()
      let (input, output) = (Pipe(), Pipe())
      // (A file, and not the number of the process: a thread may get that next.)
      let folder = try TemporaryFolder("ProcessQueueTests")
      let running = folder.file("running").path
      let first = Process.shell(
        "trap '' TERM; : > '\(running)'; echo ready; read line; rm '\(running)'; exit 0")
      (first.standardInput, first.standardOutput) = (input, output)
      let status = first.runAsFuture(in: queue)
      // (The program ignores the signal from now on.)
      _ = output.fileHandleForReading.availableData
      queue.cancelAllOperations()
      #expect(status.isCancelled)
      let second = Process.shell("test -e '\(running)' && exit 9; exit 0").runAsFuture(in: queue)
      _ = await eventually(within: .milliseconds(300)) { second.isFulfilled }
      try input.fileHandleForWriting.close()
      #expect(try await second.value == 0)
      #expect(await queue.isEmptyEventually())
    }

    @Test("One process put twice in a serial queue: the second fails, the queue goes on")
    func twice() async {
      await #expect(processExitsWith: .success) {
        let queue = OperationQueue.make()
        let process = Process.shell("exit 6")
        let (first, second) = (process.runAsFuture(in: queue), process.runAsFuture(in: queue))
        let third = Process.shell("exit 7").runAsFuture(in: queue)
        demand(try await first.value == 6)
        demand(await eventually { second.result?.isFailure == true })
        demand(await eventually { third.result?.successValue == 7 })
      }
    }
  }
#endif
