/// The place of a file's sidecar in the output.
///
/// Different files have different places, and no sidecar has the place of a folder: a
/// sidecar's name ends in `.json`, a folder's name never does. Names that are too long
/// for a file system are cut, and a digest keeps them different.
struct SidecarPlace: Hashable, Sendable {
  /// The path of the folder in the output; empty for the output itself.
  let folder: String
  let name: String

  /// - Parameter file: The path of the file, relative to the ingested folder.
  init(of file: String) {
    let names = file.split(separator: "/")
    folder = names.dropLast().map { Self.fitting(Self.folderName($0), ending: "") }
      .joined(separator: "/")
    name = Self.fitting(String(names.last ?? ""), ending: ".json")
  }

  /// The path in the output.
  var path: String { folder.appending(name: name) }

  /// `x.json` becomes `x.json.d`, and `x.json.d` becomes `x.json.d.d`.
  private static func folderName(_ name: Substring) -> String {
    var stem = name
    while stem.hasSuffix(".d") { stem = stem.dropLast(2) }
    return stem.hasSuffix(".json") ? "\(name).d" : String(name)
  }

  /// Returns a name that is at most as long as file systems allow.
  private static func fitting(_ name: String, ending: String) -> String {
    let limit = 255
    guard name.utf8.count + ending.utf8.count > limit else { return name + ending }
    var digest = SHA256()
    Array(name.utf8).withUnsafeBytes { digest.update($0) }
    let end = ".\(digest.finalize())\(ending)"
    var beginning = ""
    for character in name {
      let isTooLong =
        beginning.utf8.count + String(character).utf8.count + end.utf8.count > limit
      if isTooLong { break }
      beginning.append(character)
    }
    return beginning + end
  }
}
