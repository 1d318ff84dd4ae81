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

  private struct State {
    /// The process groups of scripts that have not been seen to end, and whether they
    /// have been asked to.
    var isAsked: [pid_t: Bool] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())
  private let launcher: Launcher
  private let watchdogs: Watchdogs

  init() {
    launcher = Launcher()
    watchdogs = Watchdogs(startedBy: launcher)
  }

  /// Has a file kept open, and with it locked, until all scripts have ended, even if
  /// this program is killed.
  func keepOpen(_ descriptor: Int32) { watchdogs.keepOpen(descriptor) }

  /// Starts a script in the current folder.
  ///
  /// Cancelling the future ends the script and all that it has started, and what
  /// scripts before it in the same group have left running.
  func run(_ script: String, writingTo output: OutputFile) throws -> Future<Outcome> {
    let began = ContinuousClock.now
    let (group, end) = try start(
      ["-e", "-c", script], Launcher.Streams(output: output.descriptor, errors: output.descriptor))
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
    // With the lock held, so that no script is started that `waitForEnd` does not see.
    let (group, end) = try state.withLock { state in
      if state.isClosed { throw CancellationError() }
      var group = try watchdogs.takeGroup()
      let end: Future<Launcher.Status>
      do throws(SystemError) {
        end = try launcher.startShell(arguments, streams, in: group).end
      } catch {
        // The script before has killed its whole group.
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

  /// Asks a group to end, once.
  private static func ask(_ group: pid_t, _ state: inout State) {
    guard state.isAsked[group] == false else { return }
    state.isAsked[group] = true
    kill(-group, SIGTERM)
  }

  /// Says that the program ends in good order: what scripts that have ended have left
  /// running is meant to.
  func close() { watchdogs.dismiss() }

  /// Asks all scripts to end, and waits until they have.
  ///
  /// Those that take longer than a second are killed. No more are started.
  func waitForEnd() async {
    state.withLock { state in
      state.isClosed = true
      for group in state.isAsked.keys { Self.ask(group, &state) }
    }
    // They are in the groups too.
    watchdogs.dismiss()
    let deadline = ContinuousClock.now + .seconds(1)
    while ContinuousClock.now < deadline, hasRunning {
      _ = await Promises.delay(for: .milliseconds(10)).completion
    }
    killAll()
  }

  /// Ends all scripts at once.
  func killAll() {
    for group in state.withLock({ $0.isAsked.keys }) { kill(-group, SIGKILL) }
  }

  private var hasRunning: Bool {
    state.withLock { $0.isAsked.keys }.contains { kill(-$0, 0) == 0 || errno == EPERM }
  }
}
