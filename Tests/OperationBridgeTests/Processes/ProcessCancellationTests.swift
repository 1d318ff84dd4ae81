import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

#if os(Linux) || os(macOS)

  @Suite("Cancelling a process", .timeLimit(.minutes(5)), .oneAtATime)
  struct ProcessCancellationTests {
    /// A process that says when it runs, and then runs until it is stopped.
    private static func endless(_ prelude: String = "") -> (process: Process, isRunning: Event) {
      let process = Process.shell("\(prelude) echo ready; while :; do sleep 0.02; done")
      let (pipe, isRunning) = (Pipe(), Event())
      process.standardOutput = pipe
      pipe.fileHandleForReading.readabilityHandler = { handle in
        isRunning.signal()
        handle.readabilityHandler = nil
      }
      return (process, isRunning)
    }

    @Test("Queued on a suspended queue: is never launched")
    func beforeLaunch() async throws {
      let queue = OperationQueue.make(isSuspended: true)
      let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      let process = Process.shell("mkdir '\(directory.path)'")
      let future = process.runAsFuture(in: queue)
      future.cancel()
      #expect(future.isCancelled)
      queue.isSuspended = false
      #expect(await queue.isEmptyEventually())
      #expect(!process.isRunning)
      #expect(process.processIdentifier == 0)
      #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test("Running, with or without a queue: settles at once, the process is gone soon after")
    func whileRunning() async throws {
      for queue in [nil, OperationQueue.make()] {
        let (process, isRunning) = Self.endless()
        let future = process.runAsFuture(in: queue)
        await isRunning.opened()
        // It may have said so before Foundation knew that it had launched it.
        #expect(await eventually { process.processIdentifier > 0 })
        let identifier = process.processIdentifier
        future.cancel()
        #expect(future.result?.failureValue as? ProperationsError == .cancelled)
        #expect(await eventually { Process.isGone(identifier) })
        // (Foundation traps if it is asked before it has noticed.)
        #expect(await eventually { !process.isRunning })
        #expect(process.terminationReason == .uncaughtSignal)
        if let queue { #expect(await queue.isEmptyEventually()) }
      }
    }

    @Test("A program that no shell runs: is gone soon after the cancellation")
    func programWithoutShell() async throws {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["sleep", "30"]
      let future = process.runAsFuture(in: OperationQueue.make())
      // (Foundation says that it runs before it knows its number.)
      #expect(await eventually { process.isRunning && process.processIdentifier > 0 })
      let identifier = process.processIdentifier
      future.cancel()
      #expect(await eventually { Process.isGone(identifier) })
      if !Process.isGone(identifier) { kill(identifier, SIGKILL) }
    }

    @Test("Its only consumer is cancelled: the process is gone soon after")
    func throughConsumer() async throws {
      let (process, isRunning) = Self.endless()
      let consumer = process.runAsFuture(in: OperationQueue.make()).ensure(on: .inline) { $0 == 0 }
      await isRunning.opened()
      consumer.cancel()
      #expect(await eventually { Process.isGone(process.processIdentifier) })
    }

    @Test("cancelAllOperations with one running and three queued: all end, nothing is left running")
    func cancelAll() async throws {
      let queue = OperationQueue.make()
      let (process, isRunning) = Self.endless()
      let running = process.runAsFuture(in: queue)
      let waiting = (0..<3).map { _ in Process.shell("exit 0") }
      let futures = waiting.map { $0.runAsFuture(in: queue) }
      await isRunning.opened()
      queue.cancelAllOperations()
      #expect(running.isCancelled)
      #expect(futures.allSatisfy { $0.isCancelled })
      #expect(await eventually { Process.isGone(process.processIdentifier) })
      #expect(await queue.isEmptyEventually())
      #expect(
        await eventually {
          waiting.allSatisfy { $0.processIdentifier == 0 || Process.isGone($0.processIdentifier) }
        })
    }

    @Test("Slow to die, on a serial queue: holds its slot to its end, the next starts after it")
    func holdsSlotToTheEnd() async throws {
      let queue = OperationQueue.make()
      let flag = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
      defer { try? FileManager.default.removeItem(atPath: flag) }
      let (process, isRunning) = Self.endless("trap 'sleep 0.5; touch \(flag); exit 0' TERM;")
      let first = process.runAsFuture(in: queue)
      let second = Process.shell("test -e \(flag)").runAsFuture(in: queue)
      await isRunning.opened()
      first.cancel()
      #expect(first.isFulfilled)
      #expect(try await second.value == 0, "the second was launched while the first still ran")
      #expect(await eventually { Process.isGone(process.processIdentifier) })
    }

    @Test("A previous termination handler: is called for a cancelled process too")
    func previousHandler() async throws {
      let (process, isRunning) = Self.endless()
      let ended = Event()
      process.terminationHandler = { _ in ended.signal() }
      let future = process.runAsFuture()
      await isRunning.opened()
      future.cancel()
      await ended.opened()
      #expect(ended.isOpen)
    }

    @Test("Cancelled at some time around the launch, 60 times: no process is left")
    func aroundTheLaunch() async throws {
      let queue = OperationQueue.make(limit: 4)
      let processes = (0..<60).map { _ in Process.shell("exec sleep 100") }
      let futures = processes.map { $0.runAsFuture(in: queue) }
      for (index, future) in futures.enumerated() {
        DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(index * 300)) {
          future.cancel()
        }
      }
      #expect(await eventually { futures.allSatisfy { $0.isFulfilled } })
      #expect(await queue.isEmptyEventually())
      let launched = processes.map { $0.processIdentifier }.filter { $0 != 0 }
      #expect(await eventually { launched.allSatisfy { Process.isGone($0) } })
      for identifier in launched where !Process.isGone(identifier) { kill(identifier, SIGKILL) }
      #expect(futures.allSatisfy { $0.isCancelled })
    }
  }
#endif
