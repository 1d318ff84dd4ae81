import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Runs scripts as processes.
final class Shell: Sendable {
  /// The end of a script.
  struct Outcome: Sendable {
    enum End: Sendable, Equatable {
      case status(Int32)
      case signal(Int32)
    }

    let end: End
    let duration: Duration
  }

  private struct State {
    /// The process groups of running scripts, and whether each was asked to end.
    var isAsked: [pid_t: Bool] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())
  private let launcher: Launcher
  private let watchdogs: Watchdogs

  /// - Parameter isAlone: Whether no other part of the program starts processes.
  init(isAlone: Bool = true) {
    launcher = Launcher(isAlone: isAlone)
    watchdogs = Watchdogs(startedBy: launcher)
  }

  /// Keeps a file open, and so locked, until all scripts have ended, even if this program
  /// is killed.
  func keepOpen(_ descriptor: Int32) { watchdogs.keepOpen(descriptor) }

  /// Starts a script in the current folder, by a launcher if there is one.
  ///
  /// Cancelling the future ends the script and all processes that it has started. It also
  /// ends processes that earlier scripts in the same group have left running.
  func run(
    _ script: String, by launcher: [String] = [], writingTo output: OutputFile
  ) throws -> Future<Outcome> {
    let began = ContinuousClock.now
    let command = ["-e", "-c", script]
    // The shell finds the launcher in PATH, and becomes it.
    let arguments =
      launcher.isEmpty
      ? command : ["-c", #"exec "$@""#, "sh"] + launcher + ["/bin/sh"] + command
    let (group, end) = try start(
      arguments, Launcher.Streams(output: output.descriptor, errors: output.descriptor))
    // Inline: on the thread that waits for all scripts.
    return end.mapToValue(on: .inline) { [self] status in
      _ = state.withLock { $0.isAsked.removeValue(forKey: group) }
      watchdogs.giveBack(group)
      return Outcome(
        end: status.signal.map { .signal($0) } ?? .status(status.exitCode),
        duration: ContinuousClock.now - began)
    }
  }

  /// Starts a script in a group that has a watchdog.
  private func start(
    _ arguments: [String], _ streams: Launcher.Streams
  ) throws -> (group: pid_t, end: Future<Launcher.Status>) {
    // With the lock held, so that `waitForEnd` sees every script that is started.
    let (group, end) = try state.withLock { state in
      if state.isClosed { throw CancellationError() }
      var group = try watchdogs.takeGroup()
      let end: Future<Launcher.Status>
      do throws(SystemError) {
        end = try launcher.startShell(arguments, streams, in: group).end
      } catch {
        // The previous script has killed its whole group.
        guard error.code == EPERM || error.code == ESRCH else { throw error }
        group = try watchdogs.takeGroup(isNew: true)
        end = try launcher.startShell(arguments, streams, in: group).end
      }
      state.isAsked[group] = false
      return (group, end)
    }
    end.onCancel(on: .inline) { [self] in state.withLock { Self.ask(group, &$0) } }
    return (group, end)
  }

  /// Asks a group to end; later calls have no effect.
  private static func ask(_ group: pid_t, _ state: inout State) {
    guard state.isAsked[group] == false else { return }
    state.isAsked[group] = true
    kill(-group, SIGTERM)
  }

  /// Tells the watchdogs that the program ends normally: processes that scripts have left
  /// running go on.
  func close() { watchdogs.dismiss() }

  /// How long a script may tidy up after it was asked to end.
  ///
  /// A second interruption of the build kills it at once.
  private static let patience = Duration.seconds(5)

  /// Asks all scripts to end, and waits until they have ended.
  ///
  /// Scripts that take longer than ``patience`` are killed. No further scripts are started.
  func waitForEnd() async {
    state.withLock { state in
      state.isClosed = true
      for group in state.isAsked.keys { Self.ask(group, &state) }
    }
    // The watchdogs are in the groups too and ignore the request, so they would count as
    // running.
    watchdogs.dismiss()
    let deadline = ContinuousClock.now + Self.patience
    while ContinuousClock.now < deadline, hasRunning {
      _ = await Promises.delay(for: .milliseconds(10)).completion
    }
    killAll()
  }

  /// Kills all scripts at once.
  func killAll() {
    for group in state.withLock({ $0.isAsked.keys }) { kill(-group, SIGKILL) }
  }

  private var hasRunning: Bool {
    state.withLock { $0.isAsked.keys }.contains { kill(-$0, 0) == 0 || errno == EPERM }
  }
}
