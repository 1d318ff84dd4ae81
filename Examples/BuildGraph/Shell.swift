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
    /// What it wrote, to standard output and to standard error.
    let output: String
    let duration: Duration
  }

  /// The processes that have been started and have not been seen to end.
  private let running = Mutex<Set<pid_t>>([])

  /// Starts a script in a folder.
  ///
  /// Cancelling the future ends the script and all that it has started.
  func run(_ script: String, in folder: URL) throws -> Future<Outcome> {
    let output = try OutputFile()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-e", "-c", script]
    process.currentDirectoryURL = folder
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output.handle
    process.standardError = output.handle

    let start = ContinuousClock.now
    let status = process.runAsFuture()
    // (Zero if it could not be launched; then the future has failed.)
    let group = process.processIdentifier
    if group > 0 { _ = running.withLock { $0.insert(group) } }
    // A process of `Process` leads a group of its own.
    status.onCancel(on: .inline) { kill(-group, SIGTERM) }
    return status.mapToValue(on: .global()) { [self] status in
      _ = running.withLock { $0.remove(group) }
      let isSignal = process.terminationReason == .uncaughtSignal
      return Outcome(
        end: isSignal ? .signal(status) : .status(status), output: try output.text(),
        duration: ContinuousClock.now - start)
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

/// A file for what a process writes: no thread has to read along, and a process
/// that leaves others behind keeps nobody waiting.
private final class OutputFile: Sendable {
  let handle: FileHandle

  init() throws {
    // Without a name it goes with its last descriptor.
    let folder = FileManager.default.temporaryDirectory.path
    var template = Array("\(folder)/BuildGraph-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    unlink(template)
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  func text() throws -> String {
    try handle.seek(toOffset: 0)
    return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
  }
}
