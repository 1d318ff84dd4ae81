import ExampleSupport
import Foundation
import Synchronization

/// A terminal whose keys come one at a time and where a picture is drawn again
/// and again in the same place.
///
/// That place is the terminal's second screen, which has no lines above its first:
/// however the window shrinks, no row of an older picture can be left there. The
/// last picture is printed on the usual screen in the end.
final class Terminal: Sendable {
  private struct State {
    var isOpen = false
    var picture: [String] = []
  }

  private let original: Mutex<termios>
  private let state = Mutex(State())

  /// `nil` if nobody sits at a terminal, or it is too small.
  init?(lines: Int) {
    var settings = termios()
    var size = winsize()
    guard isatty(STDIN_FILENO) == 1, Console.output.isTerminal,
      tcgetattr(STDIN_FILENO, &settings) == 0,
      ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) != 0 || size.ws_row == 0 || size.ws_row > lines
    else { return nil }
    original = Mutex(settings)
  }

  /// Keys come at once and are not shown; Ctrl-C and Ctrl-Z stay what they are.
  func open() {
    var settings = original.withLock { $0 }
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    state.withLock { state in
      state = State(isOpen: true)
      // No cursor, long lines are cut off instead of wrapped, and the second screen.
      Console.output.write("\u{1B}[?25l\u{1B}[?7l\u{1B}[?1049h")
    }
  }

  /// Leaves the terminal as it was, with the last picture in it.
  func close() {
    state.withLock { state in
      guard state.isOpen else { return }
      state.isOpen = false
      let picture = state.picture.map { $0 + "\r\n" }.joined()
      Console.output.write("\u{1B}[?1049l\r\(picture)\u{1B}[?7h\u{1B}[?25h")
    }
    var settings = original.withLock { $0 }
    tcsetattr(STDIN_FILENO, TCSANOW, &settings)
  }

  /// Stops the program as Ctrl-Z does, and goes on when it is continued.
  func suspend() {
    close()
    // To this very thread, so that it goes no further before it is continued.
    raise(SIGSTOP)
    open()
  }

  /// Draws a picture in the place of the one before, as much of it as there is room
  /// for just now.
  func draw(_ lines: [String]) {
    state.withLock { state in
      guard state.isOpen else { return }
      state.picture = lines
      let shown = Self.fitting(lines, height: Console.output.size?.lines)
      // (A line end below the last row would move everything up.)
      let text = shown.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n")
      Console.output.write("\u{1B}[H\(text)\u{1B}[J")
    }
  }

  /// The lines that fit; the empty ones go first, then those at the end.
  static func fitting(_ lines: [String], height: Int?) -> [String] {
    guard let height, lines.count > height else { return lines }
    return Array(lines.filter { !$0.isEmpty }.prefix(height))
  }

  /// Calls a closure for each key, on the main queue.
  ///
  /// - Parameter pressed: Gets `nil` once, when the keyboard is gone.
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

  /// The letters and digits among what a keyboard sends; arrows and function
  /// keys come as sequences that begin with Escape.
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
