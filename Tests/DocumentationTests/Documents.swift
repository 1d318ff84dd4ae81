import Foundation

/// The files of the package that this target reads.
enum Documents {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static func text(of path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// Returns the paths of all files below a folder with a suffix, in order.
  static func paths(below folder: String, ending suffix: String) throws -> [String] {
    let url = root.appendingPathComponent(folder)
    return try FileManager.default.subpathsOfDirectory(atPath: url.path)
      .filter { $0.hasSuffix(suffix) }
      .map { "\(folder)/\($0)" }
      .sorted()
  }

  /// The paths of all documents in Markdown.
  static func articles() throws -> [String] {
    try ["README.md", ".github/CONTRIBUTING.md"] + paths(below: "Sources", ending: ".md")
  }

  /// Returns all Swift blocks of articles and documentation comments, except manifests.
  ///
  /// `.ci/run` builds a package with the README's manifest.
  static func swiftBlocks() throws -> [CodeBlock] {
    let written = try articles().flatMap {
      try CodeBlock.all(inMarkdown: text(of: $0), of: $0)
    }
    let commented = try paths(below: "Sources", ending: ".swift").flatMap {
      try CodeBlock.all(inCommentsOf: text(of: $0), of: $0)
    }
    return (written + commented).filter { $0.language == "swift" && !$0.isManifest }
  }

  /// The folder whose files hold, and compile, the snippets.
  static let snippets = "Tests/DocumentationTests/Snippets"

  static func compiledFiles() throws -> [CompiledFile] {
    try paths(below: snippets, ending: ".swift").map { CompiledFile(try text(of: $0)) }
  }
}
