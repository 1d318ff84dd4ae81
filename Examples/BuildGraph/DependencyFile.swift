import ExampleSupport

/// A file with the rules, in the syntax of `make`, that a compiler has written about the
/// files it has read (`cc -MMD`).
enum DependencyFile {
  /// The error for a dependency file that cannot be used.
  struct Wrong: Error, CustomStringConvertible {
    let name: String
    let reason: String

    var description: String { "its dependency file '\(name)' \(reason)" }
  }

  /// Returns the prerequisites of all rules, each once, in their order.
  ///
  /// A backslash at the end of a line continues the line. A backslash before a blank, a
  /// `#` or a colon makes that character a part of a name. `$$` means `$`.
  ///
  /// - Returns: `nil` if a line of the text is no rule.
  static func prerequisites(in text: some Sequence<UInt8>) -> [String]? {
    var names: [String] = []
    var seen: Set<String> = []
    for line in words(in: text) where !line.isEmpty {
      // The colon may follow the target (`a.o:`) or be a word of its own.
      guard let colon = line.firstIndex(where: \.endsTargets) else { return nil }
      for word in line[(colon + 1)...] where seen.insert(word.text).inserted {
        names.append(word.text)
      }
    }
    return names
  }

  private struct Word {
    var bytes: [UInt8] = []
    /// Whether the word ends with a colon that is not part of a name.
    var endsTargets = false

    var text: String { String(decoding: bytes, as: UTF8.self) }
  }

  private static func words(in text: some Sequence<UInt8>) -> [[Word]] {
    let (blank, tab, line, back) = (UInt8(0x20), UInt8(0x09), UInt8(0x0A), UInt8(0x5C))
    let (hash, colon, dollar) = (UInt8(0x23), UInt8(0x3A), UInt8(0x24))
    // Treats "\r\n" as "\n".
    let text = text.filter { $0 != 0x0D }
    var lines: [[Word]] = [[]]
    var word: Word?
    func endWord() {
      if let ended = word { lines[lines.count - 1].append(ended) }
      word = nil
    }
    var i = 0
    while i < text.count {
      let (byte, next) = (text[i], i + 1 < text.count ? text[i + 1] : line)
      i += 1
      switch byte {
      case back where next == line:
        endWord()
        i += 1
      case back where [blank, tab, hash, colon].contains(next), dollar where next == dollar:
        word = word ?? Word()
        word?.bytes.append(next)
        i += 1
      case blank, tab: endWord()
      case line:
        endWord()
        lines.append([])
      case hash where word == nil:
        while i < text.count, text[i] != line { i += 1 }
      case colon where [blank, tab, line, back].contains(next):
        // The colon in a Windows path is not followed by any of these characters.
        word = word ?? Word()
        word?.endsTargets = true
        endWord()
      default:
        word = word ?? Word()
        word?.bytes.append(byte)
      }
    }
    endWord()
    return lines
  }
}
