import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Processes that end all commands if this program is killed.
///
/// Each watchdog leads a process group, in which scripts run one after the other. So
/// every running script has a watchdog from its first moment. The watchdog reads from a
/// pipe, which ends when this program ends, in whatever way. Then the watchdog ends its
/// group and itself. If it reads a line instead, the program ends normally, and the
/// watchdog leaves the group alone.
final class Watchdogs: Sendable {
  private struct State {
    /// The ends of the pipe; `nil` before the first process is started.
    var pipe: (reading: Int32, writing: Int32)?
    var kept: Int32?
    /// The groups in which no script runs.
    var free: [pid_t] = []
    var count = 0
  }

  private static let script = """
    exec 3>&2 2>/dev/null
    trap '' HUP INT TERM QUIT
    if ! read -r line; then
      kill -s TERM 0
      sleep 1
      kill -s KILL 0
    fi
    """

  private let launcher: Launcher
  private let state = Mutex(State())

  init(startedBy launcher: Launcher) { self.launcher = launcher }

  /// Makes the watchdogs keep a file open as long as they live.
  func keepOpen(_ descriptor: Int32) { state.withLock { $0.kept = descriptor } }

  /// Lends a process group that has a watchdog.
  ///
  /// - Parameter isNew: Whether the group must be a new one.
  func takeGroup(isNew: Bool = false) throws(SystemError) -> pid_t {
    // With the lock held: otherwise another thread could start a process before the ends
    // of the pipe are marked as not inheritable, and that process would keep the pipe
    // open.
    try state.withLock { state throws(SystemError) in
      if !isNew, let group = state.free.popLast() { return group }
      let ends = try Self.ends(&state)
      let arguments = ["-c", Self.script, "BuildGraph-watchdog"]
      let streams = Launcher.Streams(
        input: ends.reading, output: nil, errors: state.kept)
      state.count += 1
      return try launcher.startShell(arguments, streams).process
    }
  }

  /// Takes back a group whose script has ended.
  func giveBack(_ group: pid_t) { state.withLock { $0.free.append(group) } }

  /// Ends the watchdogs, because the program ends normally.
  func dismiss() {
    state.withLock { state in
      guard let ends = state.pipe else { return }
      // One line for each watchdog, because each reads one.
      for _ in 0..<state.count { write(ends.writing, "\n", 1) }
      state.count = 0
      state.free = []
    }
  }

  private static func ends(
    _ state: inout State
  ) throws(SystemError) -> (reading: Int32, writing: Int32) {
    if let ends = state.pipe { return ends }
    var ends: [Int32] = [0, 0]
    try systemCall { pipe(&ends) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    state.pipe = (ends[0], ends[1])
    return (ends[0], ends[1])
  }
}
