import Foundation
import TestSupport

/// A folder with a build description, and the program's runs in it.
struct Building {
  let program = Program("BuildGraph")
  let folder: TemporaryFolder

  init(_ description: String = "") throws {
    folder = try TemporaryFolder("BuildGraphTests")
    try folder.write(description, to: "Buildfile")
  }

  func build(_ arguments: String...) async throws -> Program.Outcome {
    try await program.run(arguments, in: folder.url)
  }

  /// Runs a line of shell in the folder, with the program as `$0`.
  func shell(_ line: String) async throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", line, program.url.path]
    process.currentDirectoryURL = folder.url
    process.standardInput = FileHandle.nullDevice
    return try await Program.launch(process).value
  }

  /// Whether a process has ended; its parent may not have collected it yet.
  static func isGone(_ id: Int32) -> Bool {
    if kill(id, 0) != 0 { return true }
    let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
    return status?.contains(") Z ") == true
  }

  /// The number that a command has written to a file, if it has.
  func number(in name: String) -> Int32? {
    guard let text = try? folder.read(name), text.hasSuffix("\n") else { return nil }
    return Int32(text.dropLast())
  }
}

extension Program.Outcome {
  /// The targets that were built, in the order of their names.
  var built: [String] { targets(after: "built") }

  /// The targets whose commands have failed, in the order of their names.
  var failed: [String] { targets(after: "failed") }

  private func targets(after verb: String) -> [String] {
    output.split(separator: "\n").filter { $0.hasPrefix(verb + " ") }
      .map { $0.split(separator: " ")[3].filter { $0 != ":" } }.sorted()
  }

  /// The output without the summary, which contains times.
  var story: [String] {
    output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      .prefix { !$0.contains(" up to date, ") }
      .map { $0.replacing(try! Regex("[0-9]+\\.[0-9]{2} s"), with: "TIME") }
  }
}
