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
    /// What has become of the files, once something is done to them.
    var deeds: Deeds?
    /// How many files something is to be done to.
    var filesToReplace = 0
  }

  private let state = Mutex(Snapshot())
  /// By itself: every reading of a file adds to it.
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

  /// All duplicates among some sets of candidates.
  func add(_ groups: [DuplicateGroup], among sets: Int) {
    state.withLock { state in
      state.groups += groups
      state.candidatesCompared += sets
    }
  }

  /// All files are left, but for the first of each group, until they are told otherwise.
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
