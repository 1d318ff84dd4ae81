// Lists the public symbols of symbol graphs that have no documentation.
//
//   DocumentationCoverage ROOT GRAPH...
//
// A symbol is documented if its comment begins with a sentence: one line that ends with a
// full stop. Symbols that are not written in the sources below ROOT (inherited and
// derived ones) do not count.

import Foundation

struct Graph: Decodable {
  struct Symbol: Decodable {
    struct Kind: Decodable { var displayName: String }
    struct Comment: Decodable {
      struct Line: Decodable { var text: String }
      var lines: [Line]
    }
    struct Location: Decodable {
      struct Position: Decodable { var line: Int }
      var uri: String
      var position: Position
    }
    var kind: Kind
    var pathComponents: [String]
    var docComment: Comment?
    var location: Location?
    var accessLevel: String

    /// The fault in the documentation, if there is one.
    var fault: String? {
      guard let lines = docComment?.lines.map(\.text), lines.contains(where: { !$0.isEmpty }) else {
        return "is not documented"
      }
      // The summary is the first paragraph.
      let summary = lines.prefix { !$0.trimmingCharacters(in: .whitespaces).isEmpty }
      return summary.last?.hasSuffix(".") == true ? nil : "does not begin with a sentence"
    }
  }
  var symbols: [Symbol]
}

let arguments = CommandLine.arguments.dropFirst()
guard let root = arguments.first, arguments.count > 1 else {
  print("usage: DocumentationCoverage ROOT GRAPH...")
  exit(2)
}
var count = 0
var faults: [String] = []
for path in arguments.dropFirst() {
  let data = try Data(contentsOf: URL(fileURLWithPath: path))
  for symbol in try JSONDecoder().decode(Graph.self, from: data).symbols {
    guard ["public", "open"].contains(symbol.accessLevel), let location = symbol.location,
      let file = URL(string: location.uri)?.path, file.hasPrefix(root)
    else { continue }
    count += 1
    if let fault = symbol.fault {
      let place = "\(file.dropFirst(root.count + 1)):\(location.position.line + 1)"
      faults.append(
        "\(place): \(symbol.kind.displayName) \(symbol.pathComponents.joined(separator: ".")) "
          + fault)
    }
  }
}
for fault in faults.sorted() { print("error: \(fault)") }
print("\(count - faults.count) of \(count) public symbols are documented")
exit(faults.isEmpty && count > 0 ? 0 : 1)
