import ExampleSupport
import Foundation
import Synchronization

/// A terminal that delivers keys one at a time, and shows a picture in a fixed place.
///
/// The picture is on the terminal's alternate screen, which has no scrollback: however
/// the window shrinks, no row of an older picture is left. At the end the last picture is
/// printed on the normal screen.
final class Terminal: Sendable {
  /// Whether the picture is shown.
  ///
  ///   closed ── open() ──▶ open ── Ctrl-Z ──▶ suspended
  ///     ▲                  │  ◀── continued ──  │
  ///     └───── close() ────┴──────── close() ───┘
  private enum Phase {
    case closed
    case open
    case suspended
  }

  private struct State {
    var phase = Phase.closed
    var picture: [String] = []
  }

  private let original: termios
  private let state = Mutex(State())

  /// Returns `nil` if input or output is no terminal, or the terminal is too small.
  init?(lines: Int) {
    var settings = termios()
    var size = winsize()
    guard isatty(STDIN_FILENO) == 1, Console.output.isTerminal,
      tcgetattr(STDIN_FILENO, &settings) == 0,
      ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) != 0 || size.ws_row == 0 || size.ws_row > lines
    else { return nil }
    original = settings
  }

  /// Makes keys arrive at once and without echo; Ctrl-C and Ctrl-Z keep their meaning.
  func open() { state.withLock { show(&$0) } }

  /// Restores the terminal and prints the last picture.
  func close() {
    state.withLock { state in
      if state.phase == .open { hide(&state) }
      state.phase = .closed
    }
  }

  /// Stops the program like Ctrl-Z, and restores the picture when the program continues.
  ///
  /// A terminal that was closed meanwhile stays closed.
  func suspend() {
    state.withLock { state in
      guard state.phase == .open else { return }
      hide(&state)
      state.phase = .suspended
    }
    // The signal goes to this thread, so that the thread stops here.
    raise(SIGSTOP)
    state.withLock { if $0.phase == .suspended { show(&$0) } }
  }

  private func show(_ state: inout State) {
    var settings = original
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    state = State(phase: .open)
    // Hides the cursor, cuts off long lines, and switches to the alternate screen.
    Console.output.write("\u{1B}[?25l\u{1B}[?7l\u{1B}[?1049h")
  }

  private func hide(_ state: inout State) {
    let picture = state.picture.map { $0 + "\r\n" }.joined()
    Console.output.write("\u{1B}[?1049l\r\(picture)\u{1B}[?7h\u{1B}[?25h")
    var settings = original
    tcsetattr(STDIN_FILENO, TCSANOW, &settings)
  }

  /// Draws a picture over the previous one, as far as it fits.
  func draw(_ lines: [String]) {
    state.withLock { state in
      guard state.phase == .open else { return }
      state.picture = lines
      let shown = Self.fitting(lines, height: Console.output.size?.lines)
      // A line end in the last row would scroll the screen.
      let text = shown.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n")
      Console.output.write("\u{1B}[H\(text)\u{1B}[J")
    }
  }

  /// Returns the lines that fit; empty lines are dropped first, then lines at the end.
  static func fitting(_ lines: [String], height: Int?) -> [String] {
    guard let height, lines.count > height else { return lines }
    return Array(lines.filter { !$0.isEmpty }.prefix(height))
  }

  /// Calls a closure for each key, on the main queue.
  ///
  /// - Parameter pressed: Receives `nil` once, when the input ends.
  @MainActor
  func readKeys(_ pressed: @escaping @MainActor (Character?) -> Void) {
    let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .main)
    source.setEventHandler {
      var buffer = [UInt8](repeating: 0, count: 64)
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      let bytes = buffer.prefix(max(count, 0))
      MainActor.assumeIsolated {
        if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN {
          source.cancel()
          pressed(nil)
        }
        for key in Self.keys(in: bytes) { pressed(key) }
      }
    }
    source.activate()
  }

  /// Returns the printable characters in the keyboard's input.
  ///
  /// Arrows and function keys are skipped: they arrive as sequences that begin with
  /// Escape.
  static func keys(in bytes: some Sequence<UInt8>) -> [Character] {
    var keys: [Character] = []
    var rest = Array(bytes)[...]
    while let byte = rest.popFirst() {
      if byte == 0x1B {
        let isLong = rest.first == UInt8(ascii: "[") || rest.first == UInt8(ascii: "O")
        _ = rest.popFirst()
        guard isLong else { continue }
        rest = rest.drop { !(0x40...0x7E).contains($0) }.dropFirst()
      } else if (0x21...0x7E).contains(byte) {
        keys.append(Character(Unicode.Scalar(byte)))
      }
    }
    return keys
  }
}
