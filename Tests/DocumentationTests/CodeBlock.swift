/// A fenced block of a document, with the place where it starts.
struct CodeBlock {
  let document: String
  /// The line of the opening fence, counted from one.
  let line: Int
  /// The first word after the opening fence, in lower case; it may be empty.
  let language: String
  let lines: [String]

  /// Whether the block is a `Package.swift`.
  var isManifest: Bool { lines.first?.hasPrefix("// swift-tools-version:") == true }

  /// The error for a fence that is never closed: the rest of the document would be code.
  struct Unclosed: Error, CustomStringConvertible {
    let document: String
    let line: Int
    var description: String { "\(document):\(line): this fence is never closed" }
  }

  /// Finds the fenced blocks of a Markdown text.
  static func all(inMarkdown text: String, of document: String) throws -> [CodeBlock] {
    var blocks: [CodeBlock] = []
    var opening: (line: Int, language: String)?
    var lines: [String] = []
    let all = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in all.enumerated() {
      let trimmed = line.trimmingPrefix(while: \.isWhitespace)
      guard trimmed.hasPrefix("```") else {
        if opening != nil { lines.append(String(line)) }
        continue
      }
      if let start = opening {
        blocks.append(
          CodeBlock(document: document, line: start.line, language: start.language, lines: lines))
        opening = nil
        lines = []
      } else {
        let words = trimmed.dropFirst(3).split(separator: " ")
        opening = (index + 1, words.first.map { $0.lowercased() } ?? "")
      }
    }
    if let opening { throw Unclosed(document: document, line: opening.line) }
    return blocks
  }

  /// Finds the fenced blocks in the documentation comments of a Swift source.
  static func all(inCommentsOf source: String, of document: String) throws -> [CodeBlock] {
    // Lines that are no comments become empty lines, so that line numbers stay right.
    let comments = source.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let trimmed = line.trimmingPrefix(while: \.isWhitespace)
      return trimmed.hasPrefix("///") ? String(trimmed.dropFirst(3)) : ""
    }
    return try all(inMarkdown: comments.joined(separator: "\n"), of: document)
  }
}
