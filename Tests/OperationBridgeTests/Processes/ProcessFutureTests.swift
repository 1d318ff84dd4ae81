import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

#if os(Linux) || os(macOS)

  extension Process {
    /// `/bin/sh -c script`, silent.
    static func shell(_ script: String) -> Process {
      let process = Process()
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments = ["-c", script]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      return process
    }

    static func missing() -> Process {
      let process = Process()
      process.executableURL = URL(filePath: "/nonexistent/program")
      return process
    }

    /// Whether the system knows nothing of the process any more.
    static func isGone(_ identifier: Int32) -> Bool { kill(identifier, 0) != 0 && errno == ESRCH }
  }

  @Suite("A future of a process", .timeLimit(.minutes(5)), .oneAtATime)
  struct ProcessFutureTests {
    @Test("Ends with status 0 or 3: succeeds with that status", arguments: [Int32(0), 3])
    func status(_ status: Int32) async throws {
      #expect(try await Process.shell("exit \(status)").runAsFuture().value == status)
      let queue = OperationQueue.make()
      #expect(try await Process.shell("exit \(status)").runAsFuture(in: queue).value == status)
      #expect(await queue.isEmptyEventually())
    }

    @Test("Found by /usr/bin/env: runs")
    func env() async throws {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["true"]
      #expect(try await process.runAsFuture().value == 0)
    }

    @Test("Killed by a signal: succeeds with the signal as status, the reason says so")
    func signal() async throws {
      let process = Process.shell("kill -KILL $$")
      #expect(try await process.runAsFuture().value == SIGKILL)
      #expect(process.terminationReason == .uncaughtSignal)
    }

    @Test("A program that does not exist: fails, and the queue goes on")
    func launchError() async throws {
      let queue = OperationQueue.make()
      #expect(await Process.missing().runAsFuture().completion.isFailure)
      #expect(await Process.missing().runAsFuture(in: queue).completion.isFailure)
      #expect(try await Process.shell("exit 0").runAsFuture(in: queue).value == 0)
    }

    @Test("No program set: fails")
    func noProgram() async throws {
      #expect(await Process().runAsFuture().completion.isFailure)
    }

    @Test("A working directory that does not exist: fails")
    func noDirectory() async throws {
      let process = Process.shell("exit 0")
      process.currentDirectoryURL = URL(filePath: "/nonexistent/place")
      #expect(await process.runAsFuture().completion.isFailure)
    }

    @Test("ensure on the status: a status other than 0 fails with ensureFailed")
    func ensured() async throws {
      let future = Process.shell("exit 3").runAsFuture().ensure { $0 == 0 }
      #expect(await future.completion.failureValue as? ProperationsError == .ensureFailed)
    }

    @Test("A termination handler set before: is called too, once")
    func previousHandler() async throws {
      let (process, statuses) = (Process.shell("exit 4"), Log<Int32>())
      process.terminationHandler = { statuses.append($0.terminationStatus) }
      #expect(try await process.runAsFuture().value == 4)
      #expect(await eventually { statuses.entries == [4] })
    }

    @Test("Output through a pipe: can be read when the future settles")
    func output() async throws {
      let (process, pipe) = (Process.shell("printf 'hello from %s' sh"), Pipe())
      process.standardOutput = pipe
      let text = process.runAsFuture().ensure { $0 == 0 }
        .mapToValue(on: .global()) { _ in
          String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }
      #expect(try await text.value == "hello from sh")
    }

    @Test("The same process while it runs: the second future fails, the first one is unaffected")
    func twiceWhileRunning() async {
      await #expect(processExitsWith: .success) {
        let (input, process) = (Pipe(), Process.shell("read line; exit 5"))
        process.standardInput = input
        let first = process.runAsFuture()
        let second = process.runAsFuture()
        demand(second.result?.isFailure == true)
        demand(!first.isFulfilled)
        try input.fileHandleForWriting.write(contentsOf: Data("go\n".utf8))
        demand(await eventually { first.result?.successValue == 5 })
      }
    }

    @Test("The same process after it has ended: the second future fails, and does not trap")
    func twiceAfterwards() async {
      await #expect(processExitsWith: .success) {
        let process = Process.shell("exit 5")
        demand(try await process.runAsFuture().value == 5)
        let second = process.runAsFuture()
        demand(await eventually { second.isFulfilled })
        demand(second.result?.isFailure == true)
      }
    }

    @Test("Ended: neither its future nor what its termination handler captured stays alive")
    func released() async throws {
      let process = Process.shell("exit 0")
      var canary: Canary? = Canary()
      process.terminationHandler = { [canary] _ in canary?.sing() }
      var future: Future<Int32>? = process.runAsFuture(in: OperationQueue.make())
      let references = [WeakReference(canary!), WeakReference(future!)]
      _ = try await future!.value
      (canary, future) = (nil, nil)
      #expect(await eventually { references.allSatisfy { $0.isGone } })
    }

    @Test("Nobody holds its future: it runs to its end all the same")
    func abandoned() async throws {
      let ended = Event()
      let process = Process.shell("exit 0")
      process.terminationHandler = { _ in ended.signal() }
      _ = process.runAsFuture(in: OperationQueue.make())
      await ended.opened()
      #expect(process.terminationStatus == 0)
    }
  }
#endif
