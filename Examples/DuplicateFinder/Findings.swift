import Synchronization

/// What the search has found so far, for whoever wants to know meanwhile: the
/// progress line, and the report after Ctrl-C.
final class Findings: Sendable {
  /// The state of the search at one moment.
  struct Snapshot: Sendable {
    var files = 0
    var emptyFiles = 0
    var bytesRead: Int64 = 0
    /// How many sets of files have the same size, once that is known.
    var candidates: Int?
    var candidatesCompared = 0
    var groups: [DuplicateGroup] = []
    var problems: Set<Problem> = []
  }

  private let state = Mutex(Snapshot())

  var soFar: Snapshot { state.withLock { $0 } }

  func add(_ listing: Folder.Listing) {
    state.withLock { state in
      state.files += listing.files.count
      state.emptyFiles += listing.files.count { $0.status.size == 0 }
      state.problems.formUnion(listing.problems)
    }
  }

  func add(candidates count: Int) { state.withLock { $0.candidates = count } }

  func add(bytesRead count: Int) { state.withLock { $0.bytesRead += Int64(count) } }

  func add(_ problem: Problem) { state.withLock { _ = $0.problems.insert(problem) } }

  /// All duplicates among the candidates of one size.
  func add(_ groups: [DuplicateGroup]) {
    state.withLock { state in
      state.groups += groups
      state.candidatesCompared += 1
    }
  }
}
