import Foundation

/// What a journal is written to: a file, or a storage of the user.
///
/// Only the queue of the writer uses it, one call after the other.
protocol JournalBackend: AnyObject, Sendable {
  /// The number of the last change; the next change gets the next number.
  var lastNumber: Int { get }

  /// Makes changes that survive the process: all of them or none.
  func write(_ changes: [WorkflowJournalChange]) throws(JournalFailure)

  /// Lets others use the journal.
  func close()
}

/// Why a change could not be made.
enum JournalFailure: Error {
  case file(URL, code: Int32)
  case storage(String, any Error)

  /// The error of a task whose result is not recorded because of this.
  func error(of identifier: String) -> WorkflowJournalError {
    switch self {
    case .file(let url, let code): .cannotWrite(identifier, url, code: code)
    case .storage(let name, let error):
      .cannotRecord(identifier, storage: name, reason: shortText(of: error))
    }
  }
}

/// A storage of the user, open.
final class StorageBackend: JournalBackend, @unchecked Sendable {
  // Sendable: only used on the queue of the writer, one call after the other.

  private struct Closed: LocalizedError {
    var errorDescription: String? { "it is closed" }
  }

  private let storage: any WorkflowJournalStorage
  private(set) var lastNumber: Int
  private var isClosed = false

  init(_ storage: any WorkflowJournalStorage, lastNumber: Int) {
    self.storage = storage
    self.lastNumber = lastNumber
  }

  deinit { close() }

  func write(_ changes: [WorkflowJournalChange]) throws(JournalFailure) {
    do {
      if isClosed { throw Closed() }
      try storage.write(changes)
    } catch {
      throw .storage(storage.name, error)
    }
    lastNumber += changes.count
  }

  func close() {
    if !isClosed { storage.close() }
    isClosed = true
  }
}
