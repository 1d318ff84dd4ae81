import Foundation

/// The files of the page, by their paths in addresses.
struct PageFiles: Sendable {
  struct File: Sendable {
    let type: String
    let data: Data
  }

  /// The types of the files: no other file is ever served.
  private static let types = [
    "index.html": "text/html; charset=utf-8",
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "timeline.js": "text/javascript; charset=utf-8",
    "graph.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
  ]

  private let files: [String: File]

  init() throws {
    var files: [String: File] = [:]
    let folder = Bundle.module.bundleURL.appendingPathComponent("Page")
    for (name, type) in Self.types {
      let data = try Data(contentsOf: folder.appendingPathComponent(name))
      files[name == "index.html" ? "/" : "/\(name)"] = File(type: type, data: data)
    }
    self.files = files
  }

  subscript(path: String) -> File? { files[path] }
}
