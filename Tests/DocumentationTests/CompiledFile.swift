/// A source file of this target, as lines to find snippets in.
///
/// This target was built, so its files compile. A snippet whose lines are found in one of
/// them therefore compiles too.
struct CompiledFile {
  private let lines: [String]

  init(_ text: String) { lines = Self.normalised(text.split(separator: "\n").map(String.init)) }

  /// Whether the file contains the block's lines, one after the other.
  ///
  /// Indentation and empty lines do not count. Imports may be elsewhere in the file,
  /// because they belong at its top.
  func contains(_ block: CodeBlock) -> Bool {
    let wanted = Self.normalised(block.lines)
    let imports = wanted.filter(Self.isImport)
    let code = wanted.filter { !Self.isImport($0) }
    guard !wanted.isEmpty, imports.allSatisfy(lines.contains) else { return false }
    guard let first = code.first else { return true }
    return lines.indices.contains { start in
      lines[start] == first && lines[start...].starts(with: code)
    }
  }

  /// Lines that could exclude code from compilation, or make text look like code.
  var suspiciousLines: [String] {
    lines.filter { line in
      line.hasPrefix("#if") && line != "#if canImport(FoundationNetworking)"
        || line.contains("/*") || line.contains("\"\"\"")
    }
  }

  private static func isImport(_ line: String) -> Bool { line.hasPrefix("import ") }

  /// The lines without their indentation, and without the guards of platforms on which
  /// programs can be started: the check runs there.
  private static func normalised(_ lines: [String]) -> [String] {
    lines.map { line in
      var line = line.trimmingPrefix(while: \.isWhitespace)
      while line.last?.isWhitespace == true { line.removeLast() }
      return String(line)
    }.filter { !$0.isEmpty && $0 != "#if os(Linux) || os(macOS)" && $0 != "#endif" }
  }
}
