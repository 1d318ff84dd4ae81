/// Files that have the same content, byte by byte.
struct DuplicateGroup: Comparable, Sendable {
  let size: Int64
  /// At least two, in the order of their paths; what a run that was killed has left is
  /// never the first.
  let files: [File]

  init(of files: [File]) {
    self.files = files.sorted { $0.path.comesBefore($1.path) }
    size = files.first?.status.size ?? 0
  }

  /// What would be free if one of the files were left.
  ///
  /// Hard links are one file: to remove one frees nothing.
  var wastedBytes: Int64 { size * Int64(files.count - 1) }

  static func == (a: DuplicateGroup, b: DuplicateGroup) -> Bool {
    a.size == b.size && a.files.map(\.path) == b.files.map(\.path)
  }

  /// The greatest waste comes first.
  static func < (a: DuplicateGroup, b: DuplicateGroup) -> Bool {
    guard a.wastedBytes == b.wastedBytes else { return a.wastedBytes > b.wastedBytes }
    return a.files.map(\.path).lexicographicallyPrecedes(b.files.map(\.path))
  }
}

extension Path {
  /// The order in which names stand for a file, and files are the first of a group.
  func comesBefore(_ other: Path) -> Bool {
    isLeftover == other.isLeftover ? self < other : other.isLeftover
  }
}
