import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Runs scripts as processes.
final class Shell: Sendable {
  /// How a script ended.
  struct Outcome: Sendable {
    enum End: Sendable, Equatable {
      case status(Int32)
      case signal(Int32)
    }

    let end: End
    let duration: Duration
  }

  private static let program = URL(fileURLWithPath: "/bin/sh")

  /// The processes that have been started and have not been seen to end.
  private let running = Mutex<Set<pid_t>>([])
  private let watchdog = Watchdog()

  /// Has a file kept open, and with it locked, until all scripts have ended, even if
  /// this program is killed.
  func keepOpen(_ file: FileHandle) { watchdog.keepOpen(file) }

  /// Starts a script in a folder.
  ///
  /// Cancelling the future ends the script and all that it has started.
  func run(
    _ script: String, in folder: URL, writingTo output: OutputFile
  ) throws -> Future<Outcome> {
    try watchdog.startIfNeeded()
    let process = Process()
    process.executableURL = Self.program
    process.arguments = ["-e", "-c", script]
    process.currentDirectoryURL = folder
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output.handle
    process.standardError = output.handle

    let start = ContinuousClock.now
    let status = process.runAsFuture()
    // (Zero if it could not be launched; then the future has failed.)
    let group = process.processIdentifier
    if group > 0 {
      _ = running.withLock { $0.insert(group) }
      watchdog.add(group)
    }
    // A process of `Process` leads a group of its own.
    status.onCancel(on: .inline) { kill(-group, SIGTERM) }
    return status.mapToValue(on: .inline) { [self] status in
      _ = running.withLock { $0.remove(group) }
      watchdog.remove(group)
      let isSignal = process.terminationReason == .uncaughtSignal
      return Outcome(
        end: isSignal ? .signal(status) : .status(status), duration: ContinuousClock.now - start)
    }
  }

  /// Waits, after they were cancelled, until the scripts have ended; kills
  /// those that take longer than a second.
  func waitForEnd() async {
    let deadline = ContinuousClock.now + .seconds(1)
    while ContinuousClock.now < deadline, hasRunning {
      _ = await Promises.delay(for: .milliseconds(10)).completion
    }
    killAll()
  }

  /// Ends all scripts at once.
  func killAll() {
    for group in running.withLock({ $0 }) { kill(-group, SIGKILL) }
  }

  private var hasRunning: Bool {
    running.withLock { $0 }.contains { kill(-$0, 0) == 0 || errno == EPERM }
  }
}
