import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Processes that end what this program has started, should this program be killed.
///
/// Each leads a process group, in which scripts are started one after the other. So
/// there is no moment at which a script runs that no watchdog knows. It reads from a
/// pipe: the pipe ends when this program does, however that comes about, and then the
/// watchdog ends its group, and with it itself. A line from the pipe says instead that
/// the program ends in good order; then it leaves the group alone.
final class Watchdogs: Sendable {
  private struct State {
    /// The ends of the pipe; `nil` before the first process was started.
    var pipe: (reading: Int32, writing: Int32)?
    var kept: Int32?
    /// The groups in which nothing runs.
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

  /// Has the watchdogs keep a file open as long as they live.
  func keepOpen(_ descriptor: Int32) { state.withLock { $0.kept = descriptor } }

  /// Lends a process group that has a watchdog.
  ///
  /// - Parameter isNew: Whether it must be one that was never lent.
  func takeGroup(isNew: Bool = false) throws(SystemError) -> pid_t {
    // With the lock held: what another thread starts before the pipe's ends are marked
    // as not to be inherited would keep the pipe open.
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

  /// Has the watchdogs leave, because the program ends in good order.
  func dismiss() {
    state.withLock { state in
      guard let ends = state.pipe else { return }
      // A byte for each, so that they need not share one out.
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
