import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

#if os(Linux)

  /// What a process took from the system is given back when it has ended.
  ///
  /// Each test counts the descriptors of a process of its own, where no other test
  /// opens files.
  @Suite("The descriptors of a process", .timeLimit(.minutes(5)), .oneAtATime)
  struct ProcessDescriptorTests {
    static func openDescriptors() -> Int {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    /// `/bin/true`, with pipes for its output.
    static func nothing() -> Process {
      let process = Process()
      process.executableURL = URL(filePath: "/bin/true")
      process.standardOutput = Pipe()
      process.standardError = Pipe()
      return process
    }

    /// Whether as many descriptors are open as before, but for a few that
    /// Foundation opens once.
    static func areGivenBack(since before: Int) async -> Bool {
      await eventually { openDescriptors() <= before + 8 }
    }

    @Test("60 commands one after the other, without a queue: no descriptor is left")
    func withoutQueue() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        demand(try await Self.nothing().runAsFuture().value == 0)
        let before = Self.openDescriptors()
        for _ in 0..<60 { demand(try await Self.nothing().runAsFuture().value == 0) }
        demand(await Self.areGivenBack(since: before))
      }
    }

    @Test("60 commands on a queue, four at a time: no descriptor is left")
    func onQueue() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        let queue = OperationQueue.make(limit: 4)
        demand(try await Self.nothing().runAsFuture(in: queue).value == 0)
        let before = Self.openDescriptors()
        let futures = (0..<60).map { _ in Self.nothing().runAsFuture(in: queue) }
        demand(try await Promises.collect(futures).value.allSatisfy { $0 == 0 })
        demand(await Self.areGivenBack(since: before))
      }
    }

    @Test("60 commands without pipes: no descriptor is left")
    func withoutPipes() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        demand(try await Process.shell("exit 0").runAsFuture().value == 0)
        let before = Self.openDescriptors()
        for _ in 0..<60 { demand(try await Process.shell("exit 0").runAsFuture().value == 0) }
        demand(await Self.areGivenBack(since: before))
      }
    }

    @Test("60 commands with pipes that are read to the end: no descriptor is left")
    func withPipes() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        @Sendable func command() -> Future<String> {
          let (process, pipe) = (Process.shell("echo hello"), Pipe())
          process.standardOutput = pipe
          return process.runAsFuture().mapToValue(on: .inline) { _ in
            String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
          }
        }
        demand(try await command().value == "hello\n")
        let before = Self.openDescriptors()
        for _ in 0..<60 { demand(try await command().value == "hello\n") }
        demand(await Self.areGivenBack(since: before))
      }
    }

    @Test("60 commands that are cancelled while they run: no descriptor is left")
    func cancelled() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        demand(try await Self.nothing().runAsFuture().value == 0)
        let before = Self.openDescriptors()
        let queue = OperationQueue.make(limit: 8)
        let futures = (0..<60).map { _ in
          let process = Process.shell("exec sleep 100")
          process.standardOutput = Pipe()
          return process.runAsFuture(in: queue)
        }
        for future in futures {
          try await Task.sleep(for: .milliseconds(3))
          future.cancel()
        }
        demand(await queue.isEmptyEventually())
        demand(await Self.areGivenBack(since: before))
      }
    }

    @Test("60 programs that do not exist: no descriptor is left")
    func missing() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        demand(await Process.missing().runAsFuture().completion.isFailure)
        let before = Self.openDescriptors()
        for _ in 0..<60 { demand(await Process.missing().runAsFuture().completion.isFailure) }
        demand(await Self.areGivenBack(since: before))
      }
    }

    @Test("A process that nobody holds any more: is released when it has ended")
    func processIsReleased() async throws {
      for queue in [nil, OperationQueue.make()] {
        var process: Process? = Self.nothing()
        let reference = WeakReference(process!)
        _ = try await process!.runAsFuture(in: queue).value
        process = nil
        let isGone = await eventually { reference.isGone }
        #expect(isGone)
      }
    }

    @Test("A process whose future was cancelled: is released when it has ended")
    func cancelledProcessIsReleased() async throws {
      var process: Process? = .shell("exec sleep 100")
      let reference = WeakReference(process!)
      let future = process!.runAsFuture()
      #expect(await eventually { process!.isRunning })
      future.cancel()
      process = nil
      let isGone = await eventually { reference.isGone }
      #expect(isGone)
    }
  }

#endif
