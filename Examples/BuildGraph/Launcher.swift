import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Starts programs, and makes a future of the end of each.
///
/// Foundation's `Process` with `Process.runAsFuture` would give the same future. But it
/// makes two threads and three sockets for each program: for commands that do nothing,
/// this alone takes 1.5 times the processor time of `make` as a whole. Here one thread
/// waits for all programs, and it also runs the continuations of their futures. It waits
/// for every child of the process, so no other part of the program may start one. A program
/// whose other parts do asks for a thread for each child instead.
final class Launcher: Sendable {
  /// The standard streams of a program; `nil` stands for `/dev/null`.
  struct Streams {
    var input: Int32?
    let output: Int32?
    let errors: Int32?
  }

  /// The status that `waitpid` reports for a program that has ended.
  struct Status: Sendable {
    fileprivate let code: Int32

    /// The signal that has ended the program, if any.
    var signal: Int32? { code & 0x7F == 0 ? nil : code & 0x7F }
    /// The exit code of the program.
    var exitCode: Int32 { (code >> 8) & 0xFF }
  }

  private struct State {
    var promises: [pid_t: Promise<Status>] = [:]
    /// The statuses of programs that ended before their promises were stored.
    var early: [pid_t: Status] = [:]
    var hasThread = false
  }

  private let state = Mutex(State())
  private let isAlone: Bool
  /// Counts the started programs that the thread still has to wait for.
  private let started = DispatchSemaphore(value: 0)
  private let environment = CStrings(
    ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" })

  /// Marks inherited files, except the standard streams, as not inheritable.
  ///
  /// Otherwise a reader that waits for such a file to be closed would wait for processes
  /// that commands leave running.
  ///
  /// - Parameter isAlone: Whether no other part of the program starts processes.
  init(isAlone: Bool = true) {
    self.isAlone = isAlone
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
    for descriptor in names.compactMap({ Int32($0) }) where descriptor > STDERR_FILENO {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
  }

  /// Starts `/bin/sh` with no signal blocked.
  ///
  /// - Parameters:
  ///   - arguments: The arguments of the shell.
  ///   - streams: The shell's standard streams.
  ///   - group: The process group; a new one if left out.
  /// - Returns: The process, and a future of its end.
  func startShell(
    _ arguments: [String], _ streams: Streams, in group: pid_t? = nil
  ) throws(SystemError) -> (process: pid_t, end: Future<Status>) {
    let process = try spawn(CStrings(["sh"] + arguments), streams, in: group)
    let promise = Promises.make(promising: Status.self)
    guard isAlone else {
      Thread.detachNewThread { promise.succeed(with: Self.waitForEnd(of: process)) }
      return (process, promise)
    }
    let (early, isFirst) = state.withLock { state -> (Status?, Bool) in
      defer { state.hasThread = true }
      let early = state.early.removeValue(forKey: process)
      if early == nil { state.promises[process] = promise }
      return (early, !state.hasThread)
    }
    if let early { promise.succeed(with: early) }
    if isFirst { Thread.detachNewThread { self.waitForAll() } }
    started.signal()
    return (process, promise)
  }

  private static func waitForEnd(of process: pid_t) -> Status {
    var code: Int32 = 0
    // It fails only if another part of the program has taken the status.
    _ = try? systemCall { waitpid(process, &code, 0) }
    return Status(code: code)
  }

  /// Waits for one program after the other; never returns.
  private func waitForAll() {
    while true {
      started.wait()
      var code: Int32 = 0
      guard let process = try? systemCall({ waitpid(-1, &code, 0) }) else { continue }
      let status = Status(code: code)
      let promise = state.withLock { state in
        let promise = state.promises.removeValue(forKey: process)
        if promise == nil { state.early[process] = status }
        return promise
      }
      promise?.succeed(with: status)
    }
  }

  #if os(tvOS) || os(watchOS)
    /// No program starts another one on these platforms.
    private func spawn(
      _ arguments: CStrings, _ streams: Streams, in group: pid_t?
    ) throws(SystemError) -> pid_t {
      throw SystemError(code: ENOTSUP)
    }
  #else
    private func spawn(
      _ arguments: CStrings, _ streams: Streams, in group: pid_t?
    ) throws(SystemError) -> pid_t {
      #if canImport(Darwin)
        var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
      #else
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
      #endif
      posix_spawn_file_actions_init(&actions)
      posix_spawnattr_init(&attributes)
      defer {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
      }
      for (number, stream) in [streams.input, streams.output, streams.errors].enumerated() {
        let number = Int32(number)
        if let stream {
          posix_spawn_file_actions_adddup2(&actions, stream, number)
        } else {
          posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
        }
      }
      // The threads of this program block signals. A child would inherit that.
      var none = sigset_t()
      sigemptyset(&none)
      posix_spawnattr_setsigmask(&attributes, &none)
      posix_spawnattr_setpgroup(&attributes, group ?? 0)
      posix_spawnattr_setflags(
        &attributes, Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK))
      var process: pid_t = 0
      let code = withExtendedLifetime((arguments, environment)) {
        posix_spawn(
          &process, "/bin/sh", &actions, &attributes, arguments.pointers, environment.pointers)
      }
      guard code == 0 else { throw SystemError(code: code) }
      return process
    }
  #endif
}

/// C strings in a list that ends with null.
private final class CStrings: @unchecked Sendable {
  // Sendable: nothing changes after `init`.
  let pointers: [UnsafeMutablePointer<CChar>?]

  init(_ strings: [String]) { pointers = strings.map { strdup($0) } + [nil] }

  deinit { for pointer in pointers { free(pointer) } }
}
