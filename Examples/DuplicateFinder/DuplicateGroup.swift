/// Files that have the same content, byte by byte.
struct DuplicateGroup: Comparable, Sendable {
  let size: Int64
  /// At least two files, in the order of their paths; leftovers of killed runs come last.
  let files: [File]

  init(of files: [File]) {
    self.files = files.sorted { $0.path.comesBefore($1.path) }
    size = files.first?.status.size ?? 0
  }

  /// The number of bytes that would be free if one file of the group were left.
  ///
  /// Hard links are one file: removing one of them frees nothing.
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
  /// The order that decides which name becomes a file's main path, and which file is the
  /// first of its group.
  func comesBefore(_ other: Path) -> Bool {
    isLeftover == other.isLeftover ? self < other : other.isLeftover
  }
}
