import Foundation

/// A public declaration in the sources.
struct PublicDeclaration: Equatable {
  struct Parameter: Equatable {
    var label: String
    /// Whether a call may leave the parameter out.
    var isOptional: Bool
  }

  /// The type that the declaration belongs to, such as `Conditions.Empty`; empty for a
  /// global declaration.
  var owner: String
  /// The name without labels; `init` for an initialiser.
  var name: String
  /// `nil` for a declaration without a parameter list.
  var parameters: [Parameter]?
  var isDeprecated = false

  /// Whether a call with these labels matches the declaration.
  func takes(_ labels: [String]) -> Bool {
    guard let parameters else { return false }
    var wanted = labels[...]
    for parameter in parameters {
      if wanted.first == parameter.label {
        wanted.removeFirst()
      } else if !parameter.isOptional {
        return false
      }
    }
    return wanted.isEmpty
  }
}

/// The public declarations of the sources, found by their layout.
///
/// The layout is that of `swift format`: the closing brace of a type stands in the column
/// in which the type begins.
struct PublicDeclarations {
  private(set) var all: [PublicDeclaration] = []
  /// The superclass of each class that has one.
  private var superclasses: [String: String] = [:]

  init(sources: [String]) { for source in sources { add(source) } }

  init(below folder: String) throws {
    try self.init(
      sources: Documents.paths(below: folder, ending: ".swift").map { try Documents.text(of: $0) })
  }

  /// The declarations that a name refers to, including inherited ones.
  ///
  /// The name has labels, such as `Promises.make(promising:)`, or none, such as
  /// `Future.onSuccess`.
  func matching(_ name: String) -> [PublicDeclaration] {
    let labels = name.firstIndex(of: "(").map { start in
      name[start...].dropFirst().prefix { $0 != ")" }.split(separator: ":").map(String.init)
    }
    let path = name.prefix { $0 != "(" }.split(separator: ".").map(String.init)
    var owner: String? = path.dropLast().joined(separator: ".")
    while let type = owner {
      let found = all.filter { declaration in
        declaration.owner == type && declaration.name == path.last
          && labels.map(declaration.takes) != false
      }
      if !found.isEmpty { return found }
      owner = superclasses[type]
    }
    return []
  }

  // MARK: Reading

  /// The type or extension whose body is being read.
  private struct Body {
    var type: String
    var indentation: Int
    var isDeprecated: Bool
    /// Set if members are public without the keyword: the cases of an enumeration, the
    /// requirements of a protocol.
    var publishes: String?
  }

  private static let modifiers =
    "(?:(?:public|open|package|internal|private|fileprivate|static|final|override|convenience|"
    + "required|mutating|nonisolated|indirect|weak|lazy|prefix|infix|private\\(set\\)|class)\\s+)*"
  private static let keywords =
    "func|init|var|let|class|struct|enum|protocol|actor|typealias|extension|case|subscript|"
    + "associatedtype"
  private static var declaration: Regex<(Substring, Substring, Substring, Substring)> {
    try! Regex(
      "(\(modifiers))(\(keywords))\\b\\s*(.*)",
      as: (Substring, Substring, Substring, Substring).self)
  }

  private mutating func add(_ source: String) {
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.firstRange(of: "//").map { String(line[..<$0.lowerBound]) } ?? String(line)
    }
    let pattern = Self.declaration
    var bodies: [Body] = []
    var attributes = ""
    for (index, line) in lines.enumerated() {
      var text = String(line.trimmingPrefix(while: \.isWhitespace))
      guard !text.isEmpty else { continue }
      let indentation = line.count - text.count
      while let body = bodies.last, indentation <= body.indentation, text.hasPrefix("}") {
        bodies.removeLast()
      }
      attributes += Self.takeAttributes(from: &text, continuing: attributes)
      guard !text.isEmpty else { continue }
      defer { attributes = "" }
      // Lines that are indented deeper than a member are code.
      guard indentation == bodies.last.map({ $0.indentation + 2 }) ?? 0,
        let match = text.wholeMatch(of: pattern)
      else { continue }
      let keyword = String(match.2)
      let whole = ([String(match.3)] + lines[(index + 1)...].prefix(40)).joined(separator: "\n")
      let isDeprecated =
        attributes.contains("deprecated") || bodies.last?.isDeprecated == true
      let isUnavailable = attributes.contains("unavailable")
      let isPublic =
        match.1.contains("public ") || match.1.contains("open ")
        || bodies.last?.publishes?.contains(keyword) == true
      let owner = bodies.last?.type ?? ""
      var names = [String(match.3.prefix { $0.isLetter || $0.isNumber || "_.`".contains($0) })]
      switch keyword {
      case "class", "struct", "enum", "protocol", "actor", "extension":
        let type = owner.isEmpty ? names[0] : "\(owner).\(names[0])"
        if keyword == "class", let parent = Self.firstInherited(whole) {
          superclasses[type] = parent
        }
        if !text.hasSuffix("{}") {
          let publishes = ["enum": "case", "protocol": "func var typealias associatedtype"][keyword]
          bodies.append(
            Body(
              type: type, indentation: indentation, isDeprecated: isDeprecated,
              publishes: isPublic ? publishes : nil))
        }
        if keyword == "extension" { continue }
      case "init", "subscript": names = [keyword]
      case "func" where names[0].isEmpty: names = [String(match.3.prefix { !$0.isWhitespace })]
      case "case": names = Self.cases(String(match.3))
      default: break
      }
      guard isPublic, !isUnavailable else { continue }
      let hasParameters = ["func", "init", "subscript"].contains(keyword)
      for name in names {
        all.append(
          PublicDeclaration(
            owner: owner, name: name.filter { $0 != "`" },
            parameters: hasParameters ? Self.parameters(of: whole) : nil,
            isDeprecated: isDeprecated))
      }
    }
  }

  /// Takes the attributes at the beginning of a line, or the rest of an attribute that
  /// began on an earlier line.
  private static func takeAttributes(from text: inout String, continuing begun: String) -> String {
    var depth = begun.reduce(0) { $0 + ($1 == "(" ? 1 : $1 == ")" ? -1 : 0) }
    var taken = ""
    while depth > 0 || text.hasPrefix("@") {
      // The attribute's name, then its parentheses.
      if depth == 0 { taken += take(from: &text) { !$0.isWhitespace && $0 != "(" } }
      if depth > 0 || text.hasPrefix("(") {
        repeat {
          guard let next = text.first else { return taken }
          depth += next == "(" ? 1 : next == ")" ? -1 : 0
          taken.append(text.removeFirst())
        } while depth > 0
      }
      _ = take(from: &text, while: \.isWhitespace)
      taken += " "
    }
    return taken
  }

  private static func take(
    from text: inout String, while isWanted: (Character) -> Bool
  ) -> String {
    let taken = text.prefix(while: isWanted)
    text.removeFirst(taken.count)
    return String(taken)
  }

  /// The names in a list of cases, such as `a(Int), b`.
  private static func cases(_ text: String) -> [String] {
    parts(of: text).compactMap { part in
      part.firstMatch(of: /^\s*`?(\w+)/).map { String($0.1) }
    }
  }

  /// The first type after the colon of a class's head.
  private static func firstInherited(_ text: String) -> String? {
    let head = text.prefix { $0 != "{" }
    var depth = 0
    for index in head.indices {
      switch head[index] {
      case "<": depth += 1
      case ">": depth -= 1
      case ":" where depth == 0:
        return head[head.index(after: index)...].firstMatch(of: /\w+/).map { String($0.0) }
      default: break
      }
    }
    return nil
  }

  /// The parameters in the first parentheses that are not in a generic list.
  private static func parameters(of text: String) -> [PublicDeclaration.Parameter] {
    var depth = 0
    var list = ""
    for (previous, character) in zip(" " + text, text) {
      if character == "<" || character == "(" { depth += 1 }
      if character == ")" || character == ">" && previous != "-" { depth -= 1 }
      if character == ")", depth == 0 { break }
      list.append(character)
    }
    guard let start = parenthesis(in: list) else { return [] }
    return parts(of: String(list[list.index(after: start)...])).compactMap { part in
      let text = part.replacing(/@\w+(\([^)]*\))?/, with: "")
      guard let label = text.firstMatch(of: /[\w`]+/) else { return nil }
      return .init(
        label: String(label.0.filter { $0 != "`" }),
        isOptional: text.contains(" = ") || text.hasSuffix("..."))
    }
  }

  /// The first opening parenthesis outside angle brackets.
  private static func parenthesis(in text: String) -> String.Index? {
    var depth = 0
    for index in text.indices {
      if text[index] == "<" { depth += 1 }
      if text[index] == ">" { depth -= 1 }
      if text[index] == "(", depth == 0 { return index }
    }
    return nil
  }

  /// Splits the text at commas outside brackets.
  private static func parts(of text: String) -> [String] {
    var parts = [""]
    var depth = 0
    for (previous, character) in zip(" " + text, text) {
      if "<([{".contains(character) { depth += 1 }
      if ")]}".contains(character) || character == ">" && previous != "-" { depth -= 1 }
      if character == ",", depth == 0 {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character)
      }
    }
    return parts
  }
}
