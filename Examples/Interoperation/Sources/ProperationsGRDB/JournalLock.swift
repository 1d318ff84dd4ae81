import Foundation
import GRDB
import Synchronization

/// The right to use a journal of a database, for one workflow at a time.
///
/// It is the lock of a file beside the database, because the database itself must stay open for
/// other programs. For a database in memory it is a flag.
final class JournalLock: Sendable {
  private enum State {
    case free
    case taken(descriptor: Int32?)
  }

  private let path: String?
  private let state = Mutex(State.free)

  init(of name: String, in database: any DatabaseWriter) {
    let isInMemory = database.path.isEmpty || database.path == ":memory:"
    let name = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    path = isInMemory ? nil : "\(database.path)-\(name).lock"
  }

  deinit { giveBack() }

  /// Returns whether the journal was free.
  ///
  /// - Throws: The error of the system if the file cannot be made.
  func take() throws -> Bool {
    try state.withLock { state in
      guard case .free = state else { return false }
      guard let path else {
        state = .taken(descriptor: nil)
        return true
      }
      let descriptor = Foundation.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
      guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        Foundation.close(descriptor)
        return false
      }
      state = .taken(descriptor: descriptor)
      return true
    }
  }

  func giveBack() {
    state.withLock { state in
      // Closing the file ends its lock.
      if case .taken(let descriptor?) = state { Foundation.close(descriptor) }
      state = .free
    }
  }
}
