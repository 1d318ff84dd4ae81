/// What becomes of all files of a group but the first.
enum Action: String, Sendable {
  case remove, hardLink
}

/// What has become of a file of a group, or would.
enum Fate: String, Sendable {
  /// The first of a group.
  case kept
  case removed
  /// Its names are hard links to the first now.
  case linked
  /// It is as it was: a problem says why, or the program was interrupted before.
  case left
}

/// What has become of the files of all groups.
struct Deeds: Sendable {
  let action: Action
  let isDryRun: Bool
  /// By the path that stands for a file.
  var fates: [Path: Fate] = [:]
  var freedBytes: Int64 = 0

  /// The number of files that were removed or linked, or would be.
  var count: Int { fates.values.count { $0 == .removed || $0 == .linked } }
}
