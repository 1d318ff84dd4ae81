import ExampleSupport
import Foundation
import Synchronization

/// A terminal whose keys come one at a time and where a picture is drawn again
/// and again in the same place.
final class Terminal: Sendable {
  private struct State {
    var isOpen = false
    /// How many lines the last picture has.
    var height = 0
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
      // No cursor, and long lines are cut off instead of wrapped.
      Console.output.write("\u{1B}[?25l\u{1B}[?7l")
    }
  }

  /// Leaves the terminal as it was, with the last picture in it.
  func close() {
    state.withLock { state in
      guard state.isOpen else { return }
      state.isOpen = false
      Console.output.write("\u{1B}[?7h\u{1B}[?25h")
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

  func draw(_ lines: [String]) {
    state.withLock { state in
      guard state.isOpen else { return }
      let up = state.height > 0 ? "\u{1B}[\(state.height)A" : ""
      state.height = lines.count
      Console.output.write(up + "\r" + lines.map { $0 + "\u{1B}[K\r\n" }.joined())
    }
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
