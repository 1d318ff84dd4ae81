import Synchronization

/// The results of the search so far, shared with the progress line and with the report
/// after Ctrl-C.
final class Findings: Sendable {
  /// The state of the search at one moment.
  struct Snapshot: Sendable {
    var files = 0
    var emptyFiles = 0
    var bytesRead: Int64 = 0
    /// The number of sets of files of the same size; `nil` while the scan runs.
    var candidates: Int?
    var candidatesCompared = 0
    var groups: [DuplicateGroup] = []
    var problems: Set<Problem> = []
    /// The fates of the files; `nil` before the action begins.
    var deeds: Deeds?
    /// The number of files that the action removes or links.
    var filesToReplace = 0
  }

  private let state = Mutex(Snapshot())
  /// Outside the mutex: every read of a file adds to it.
  private let bytesRead = Atomic<Int64>(0)

  var soFar: Snapshot {
    var snapshot = state.withLock { $0 }
    snapshot.bytesRead = bytesRead.load(ordering: .relaxed)
    return snapshot
  }

  func add(_ listing: Folder.Listing) {
    state.withLock { state in
      state.files += listing.files.count
      state.emptyFiles += listing.emptyFiles
      state.problems.formUnion(listing.problems)
    }
  }

  func add(candidates count: Int) { state.withLock { $0.candidates = count } }

  func add(bytesRead count: Int) { bytesRead.wrappingAdd(Int64(count), ordering: .relaxed) }

  func add(_ problem: Problem) { state.withLock { _ = $0.problems.insert(problem) } }

  /// Adds the duplicates that a set of candidates contains.
  func add(_ groups: [DuplicateGroup]) {
    state.withLock { state in
      state.groups += groups
      state.candidatesCompared += 1
    }
  }

  /// Records the start of an action.
  ///
  /// The first file of each group counts as kept, every other file as left until its fate
  /// is added.
  func begin(_ deeds: Deeds, among groups: [DuplicateGroup]) {
    var deeds = deeds
    for group in groups {
      for file in group.files { deeds.fates[file.path] = .left }
      deeds.fates[group.files[0].path] = .kept
    }
    state.withLock { state in
      state.deeds = deeds
      state.filesToReplace = groups.reduce(0) { $0 + $1.files.count - 1 }
    }
  }

  func add(_ fate: Fate, of file: File, freeing bytes: Int64) {
    state.withLock { state in
      state.deeds?.fates[file.path] = fate
      state.deeds?.freedBytes += bytes
    }
  }
}
