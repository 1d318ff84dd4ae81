import Foundation

/// The three standard streams of a program.
package enum StandardStreams {
  /// Prepares the program for streams that are closed, or that close while it runs.
  ///
  /// Call it before anything else. A closed stream (`>&-`) is replaced by `/dev/null`.
  /// Otherwise the first file that the program opens would get its number, and with it
  /// the program's output. When the reader of a pipe closes its end (`| head`), the write
  /// fails with an error; no signal ends the program.
  package static func prepare() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      let opened = open("/dev/null", O_RDWR)
      if opened >= 0, opened != descriptor {
        // `open` takes the lowest free number. It differs only if a lower stream could
        // not be opened.
        dup2(opened, descriptor)
        close(opened)
      }
    }
    // An empty handler, not `SIG_IGN`: child processes would inherit `SIG_IGN`.
    signal(SIGPIPE) { _ in }
  }
}
