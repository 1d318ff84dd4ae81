// Describes the public interface in symbol graphs: one line for each symbol, sorted.
//
//   Interface ROOT GRAPH...
//
// Each line has the module, the path of the symbol, and its declaration with attributes,
// labels, types and constraints. `deprecated` or `unavailable` comes before the
// declaration. Conformances and superclasses of a type have lines of their own. Inherited
// and derived symbols, which are not written in the sources below ROOT, are left out.

import Foundation

struct Graph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { var precise: String }
    struct Location: Decodable { var uri: String }
    struct Fragment: Decodable { var spelling: String }
    struct Availability: Decodable {
      var isUnconditionallyDeprecated: Bool?
      var isUnconditionallyUnavailable: Bool?
    }
    struct Extension: Decodable {
      struct Constraint: Decodable {
        var kind: String
        var lhs: String
        var rhs: String
      }
      var constraints: [Constraint]?
    }
    var identifier: Identifier
    var pathComponents: [String]
    var declarationFragments: [Fragment]?
    var swiftExtension: Extension?
    var availability: [Availability]?
    var location: Location?
    var accessLevel: String

    var path: String { pathComponents.joined(separator: ".") }

    /// The declaration as it is written, on one line.
    var text: String {
      (declarationFragments ?? []).map(\.spelling).joined()
        .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The declaration, its availability, and the constraints of its extension, without the
    /// constraints of the type itself.
    func declaration(inside type: String) -> String {
      var marks = ""
      if availability?.contains(where: { $0.isUnconditionallyDeprecated == true }) == true {
        marks += "deprecated "
      }
      if availability?.contains(where: { $0.isUnconditionallyUnavailable == true }) == true {
        marks += "unavailable "
      }
      let constraints = (swiftExtension?.constraints ?? []).map { constraint in
        "\(constraint.lhs) \(constraint.kind == "sameType" ? "==" : ":") \(constraint.rhs)"
      }
      let more = Set(constraints).filter { !text.contains($0) && !type.contains($0) }.sorted()
      let suffix = more.isEmpty ? "" : " [where \(more.joined(separator: ", "))]"
      return "\(accessLevel) \(marks)\(text)\(suffix)"
    }
  }
  struct Relationship: Decodable {
    var kind: String
    var source: String
    var target: String
    var targetFallback: String?
  }
  struct Module: Decodable { var name: String }
  var module: Module
  var symbols: [Symbol]
  var relationships: [Relationship]
}

let arguments = CommandLine.arguments.dropFirst()
guard let root = arguments.first, arguments.count > 1 else {
  print("usage: Interface ROOT GRAPH...")
  exit(2)
}
let graphs = try arguments.dropFirst().map { path in
  try JSONDecoder().decode(Graph.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
}

/// The names of all symbols, for relationships; includes types of other modules that have
/// members here.
var names: [String: String] = [:]
/// The declarations of all types, by name.
var types: [String: String] = [:]
for graph in graphs {
  for symbol in graph.symbols {
    names[symbol.identifier.precise] = symbol.path
    types[symbol.path] = symbol.text
  }
}
for graph in graphs {
  for relationship in graph.relationships where relationship.kind == "memberOf" {
    if let member = names[relationship.source], names[relationship.target] == nil {
      names[relationship.target] = member.split(separator: ".").dropLast().joined(separator: ".")
    }
  }
}

/// The conformances that the compiler adds by itself.
let implied: Set = ["Swift.SendableMetatype", "Swift.Escapable", "Swift.Copyable"]
var lines: Set<String> = []
for graph in graphs {
  let module = graph.module.name
  for symbol in graph.symbols {
    guard ["public", "open"].contains(symbol.accessLevel), let location = symbol.location,
      let file = URL(string: location.uri)?.path, file.hasPrefix(root + "/Sources/")
    else { continue }
    let owner = symbol.pathComponents.dropLast().joined(separator: ".")
    let declaration = symbol.declaration(inside: types[owner] ?? "")
    lines.insert("\(module) | \(symbol.path) | \(declaration)")
  }
  for relationship in graph.relationships
  where ["conformsTo", "inheritsFrom"].contains(relationship.kind) {
    guard let target = names[relationship.target] ?? relationship.targetFallback,
      !implied.contains(target)
    else { continue }
    let source = names[relationship.source] ?? relationship.source
    let verb = relationship.kind == "conformsTo" ? "conforms to" : "inherits from"
    lines.insert("\(module) | \(source) | \(verb) \(target)")
  }
}
for line in lines.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) { print(line) }
exit(lines.isEmpty ? 1 : 0)
