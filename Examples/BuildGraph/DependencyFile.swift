import ExampleSupport

/// A file in which a compiler has written what it has read (`cc -MMD`): rules as
/// `make` has them.
enum DependencyFile {
  /// A file is not what it should be.
  struct Wrong: Error, CustomStringConvertible {
    let name: String
    let reason: String

    var description: String { "its dependency file '\(name)' \(reason)" }
  }

  /// The prerequisites of all rules, each once, in their order.
  ///
  /// A backslash at the end of a line goes on in the next one; before a blank, a
  /// `#` or a colon it makes that a part of a name, as `$$` means `$`.
  ///
  /// - Returns: `nil` if the text has a line that is no rule.
  static func prerequisites(in text: some Sequence<UInt8>) -> [String]? {
    var names: [String] = []
    var seen: Set<String> = []
    for line in words(in: text) where !line.isEmpty {
      // `a.o:`, or a colon of its own.
      guard let colon = line.firstIndex(where: \.endsTargets) else { return nil }
      for word in line[(colon + 1)...] where seen.insert(word.text).inserted {
        names.append(word.text)
      }
    }
    return names
  }

  private struct Word {
    var bytes: [UInt8] = []
    /// Whether a colon that is not part of a name stands at its end.
    var endsTargets = false

    var text: String { String(decoding: bytes, as: UTF8.self) }
  }

  private static func words(in text: some Sequence<UInt8>) -> [[Word]] {
    let (blank, tab, line, back) = (UInt8(0x20), UInt8(0x09), UInt8(0x0A), UInt8(0x5C))
    let (hash, colon, dollar) = (UInt8(0x23), UInt8(0x3A), UInt8(0x24))
    // ("\r\n" counts as "\n".)
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
        // (Of a Windows path the colon is not followed by any of these.)
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
