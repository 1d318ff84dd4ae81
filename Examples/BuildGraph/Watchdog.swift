import ExampleSupport
import Foundation
import Properations
import Synchronization

/// A process that ends what this program has started, should this program be killed.
///
/// It reads from a pipe to which nothing is ever written: the pipe ends when this
/// program does, however that comes about. Which process groups are left is then in a
/// file that both have open, a slot of twelve bytes for each; most of the time none.
/// It leads a process group of its own, so that no Ctrl-C reaches it.
final class Watchdog: Sendable {
  private struct State {
    var isRunning = false
    /// The end of the pipe that goes with this program.
    var lifeline: FileHandle?
    var groups: FileHandle?
    var kept: FileHandle?
    var slots: [pid_t: Int] = [:]
    var freeSlots: [Int] = []
  }

  private static let script = """
    exec 3>&2 2>/dev/null
    trap '' HUP INT TERM QUIT
    while read -r line; do :; done
    read -r groups <&1
    if [ -n "$groups" ]; then
      kill -s TERM -- $groups
      sleep 1
      kill -s KILL -- $groups
    fi
    """

  private let state = Mutex(State())

  /// Has the watchdog keep a file open as long as it lives.
  func keepOpen(_ file: FileHandle) { state.withLock { $0.kept = file } }

  /// Starts the process, the first time.
  func startIfNeeded() throws {
    let isFirst = state.withLock { state in
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { try start() }
  }

  private func start() throws {
    var ends: [Int32] = [0, 0]
    try systemCall { pipe(&ends) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let end = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    let lifeline = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    let groups = try OutputFile().handle
    // The slots are written in their places.
    _ = fcntl(groups.fileDescriptor, F_SETFL, 0)
    let kept = state.withLock { state in
      state.lifeline = lifeline
      state.groups = groups
      return state.kept
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", Self.script, "BuildGraph-watchdog"]
    process.standardInput = end
    process.standardOutput = groups
    process.standardError = kept ?? FileHandle.nullDevice
    let status = process.runAsFuture()
    if case .failure(let error)? = status.result { throw error }
    // What was started meanwhile is written now.
    state.withLock { state in
      for (group, slot) in state.slots { Self.write("-\(group)", to: slot, state) }
    }
  }

  /// A process group has been started.
  func add(_ group: pid_t) {
    state.withLock { state in
      let slot = state.freeSlots.popLast() ?? state.slots.count
      state.slots[group] = slot
      Self.write("-\(group)", to: slot, state)
    }
  }

  /// A process group has ended.
  func remove(_ group: pid_t) {
    state.withLock { state in
      guard let slot = state.slots.removeValue(forKey: group) else { return }
      state.freeSlots.append(slot)
      Self.write("", to: slot, state)
    }
  }

  private static func write(_ text: String, to slot: Int, _ state: borrowing State) {
    guard let groups = state.groups else { return }
    let length = 12
    let bytes = Array(text.utf8) + Array(repeating: UInt8(ascii: " "), count: length - text.count)
    pwrite(groups.fileDescriptor, bytes, length, off_t(slot * length))
  }
}
