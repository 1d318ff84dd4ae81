/// Names of tasks in sentences for people.
///
/// The length of the text is bounded, however long the names and however many the tasks.
enum TaskNames {
  /// How many characters of a name are shown.
  private static let longestName = 80

  /// How many characters of a reason are shown.
  private static let longestReason = 1_000

  /// The beginning of a name or another text, on one line.
  private static func shortened(_ name: String, to limit: Int = longestName) -> String {
    // In code units: counting the characters of a long name is slow.
    let end = name.utf8.index(
      name.utf8.startIndex, offsetBy: limit * 4, limitedBy: name.utf8.endIndex)
    let isLong = end.map { $0 < name.utf8.endIndex } ?? false
    let start = isLong ? String(decoding: name.utf8.prefix(limit * 4), as: UTF8.self) : name
    let line = String(start.prefix(limit).map { $0.isNewline ? " " : $0 })
    return isLong || start.count > limit ? line + "..." : line
  }

  /// The reason for an error, as other code has given it.
  static func reason(_ text: String) -> String { shortened(text, to: longestReason) }

  /// The name in quotes.
  static func quoted(_ name: String) -> String {
    let escaped = shortened(name).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "\"\(escaped)\""
  }

  /// The name unchanged if it is a word, otherwise in quotes: names may contain commas.
  static func plain(_ name: String) -> String {
    let isWord =
      !name.isEmpty
      && name.utf8.prefix(longestName + 1).allSatisfy { byte in
        switch UInt8(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
          UInt8(ascii: "."), 0x80...:
          true
        default: false
        }
      }
    return isWord ? shortened(name) : quoted(name)
  }

  /// The first of many texts, and the number of the others.
  static func list(
    _ count: Int, limit: Int, separator: String = ", ", _ text: (Int) -> String
  ) -> String {
    let shown = (0..<min(count, limit)).map(text).joined(separator: separator)
    return count > limit ? shown + " and \(count - limit) more" : shown
  }

  /// Tasks inside one another, each after a " > ": of many, the first three and the last.
  static func innerPath(_ tasks: ArraySlice<AnyWorkflowTask>) -> String {
    let shown = tasks.count > 5 ? tasks.prefix(3).map { $0 } + tasks.suffix(1) : Array(tasks)
    var names = shown.map { plain($0.name) }
    if tasks.count > 5 { names.insert("...", at: 3) }
    return names.map { " > " + $0 }.joined()
  }

  /// A chain of tasks: if it is long, its first and last ones.
  static func path(_ tasks: [AnyWorkflowTask]) -> String {
    let (separator, ends) = (" -> ", 10)
    func text(_ tasks: ArraySlice<AnyWorkflowTask>) -> String {
      tasks.map { quoted($0.name) }.joined(separator: separator)
    }
    guard tasks.count > 2 * ends else { return text(tasks[...]) }
    return text(tasks.prefix(ends)) + separator + "(\(tasks.count - 2 * ends) more)" + separator
      + text(tasks.suffix(ends))
  }
}

/// The message of an error, cut if it is long.
func shortText(of error: any Error) -> String {
  let text = error.text
  return text.utf8.count > 2_000 ? String(text.prefix(500)) + "..." : text
}
