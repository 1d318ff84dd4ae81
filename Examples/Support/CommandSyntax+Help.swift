extension CommandSyntax {
  /// The maximum length of a line of help.
  package static var width: Int { 80 }

  /// The synopsis, printed with the message about wrong usage.
  package var usage: String {
    synopsis + "Try '\(program) --help' for more.\n"
  }

  /// The text that `--help` prints.
  package var help: String {
    var text = synopsis + "\n" + summary.trimmed + "\n\n"
    let names = options.map(\.nameForHelp)
    // A long name gets a line of its own; otherwise it would push the whole column to the
    // right.
    let column = (names.map(\.count).filter { $0 <= 20 }.max() ?? 0) + 4
    for (option, name) in zip(options, names) {
      text += option.help.split(separator: " ").wrapped(
        after: "  " + name, indent: column, width: Self.width)
    }
    let details = details.trimmed
    return details.isEmpty ? text : text + "\n" + details + "\n"
  }

  /// The version of the program.
  package var version: String { "\(program) \(ToolVersion.current)\n" }

  private var synopsis: String {
    var words = options.filter { $0.long != "--help" && $0.long != "--version" }.map {
      "[\($0.nameForUsage)]"
    }
    if !operands.isEmpty { words += ["[--]", operands] }
    let start = "Usage: \(program)"
    return words.map { $0[...] }.wrapped(after: start, indent: start.count + 1, width: Self.width)
  }
}

/// The version of the example programs, which are released together.
package enum ToolVersion {
  /// There is no release yet.
  package static let current = "0.1.0-dev"
}

extension CommandOption {
  fileprivate var nameForUsage: String {
    let name = short.map { "-\($0)" } ?? long ?? ""
    return value.map { "\(name) \($0)" } ?? name
  }

  fileprivate var nameForHelp: String {
    let names = [short.map { "-\($0)" }, long].compactMap { $0 }.joined(separator: ", ")
    return value.map { "\(names) \($0)" } ?? names
  }
}

extension [Substring] {
  /// Wraps the words to lines.
  ///
  /// Each line ends with a line end.
  ///
  /// - Parameters:
  ///   - start: The text at the beginning of the first line.
  ///   - indent: The column where the words begin. If `start` is longer, the words begin
  ///     on the next line.
  ///   - width: The maximum length of a line. A word that is longer gets a line of its
  ///     own.
  fileprivate func wrapped(after start: String, indent: Int, width: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    var lines = [start]
    if start.count < indent {
      lines[0] += margin.dropFirst(start.count)
    } else {
      lines.append(margin)
    }
    for word in self {
      let isFirst = lines[lines.count - 1].count == indent
      if !isFirst, lines[lines.count - 1].count + 1 + word.count > width {
        lines.append(margin + word)
      } else {
        lines[lines.count - 1] += (isFirst ? "" : " ") + word
      }
    }
    return lines.map { line in
      String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
    }.joined()
  }
}

extension String {
  /// The text without trailing line ends.
  fileprivate var trimmed: String { String(reversed().drop(while: \.isNewline).reversed()) }
}
