import Foundation

/// The three streams that a program finds open when it starts, if all is well.
package enum StandardStreams {
  /// Prepares a program for streams that are closed, or close while it runs.
  ///
  /// Call it first of all. A stream that is closed (`>&-`) becomes one that discards
  /// everything; else the first file that the program opens would take its number, and
  /// get what the program prints. A pipe whose reader goes away (`| head`) is noticed
  /// where the program writes, and does not end it with a signal.
  package static func prepare() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      let opened = open("/dev/null", O_RDWR)
      if opened >= 0, opened != descriptor {
        // (Only if a lower one could not be opened.)
        dup2(opened, descriptor)
        close(opened)
      }
    }
    // A handler, not `SIG_IGN`, which the programs that this one starts would inherit.
    signal(SIGPIPE) { _ in }
  }
}
