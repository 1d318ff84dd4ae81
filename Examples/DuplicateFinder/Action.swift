/// The action for all files of a group except the first.
enum Action: String, Sendable {
  case remove, hardLink
}

/// What happened to a file of a group, or would happen.
enum Fate: String, Sendable {
  /// The file is the first of its group.
  case kept
  case removed
  /// The file's names are now hard links to the first file.
  case linked
  /// The file is unchanged. Either a problem says why, or the program was interrupted.
  case left
}

/// The fates of the files of all groups.
struct Deeds: Sendable {
  let action: Action
  let isDryRun: Bool
  /// The fate of each file, by the file's main path.
  var fates: [Path: Fate] = [:]
  var freedBytes: Int64 = 0

  /// The number of files that were removed or linked, or would be.
  var count: Int { fates.values.count { $0 == .removed || $0 == .linked } }
}
