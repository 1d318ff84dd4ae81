import Foundation
import Properations
import TestSupport
import Testing

/// The program as a user runs it.
enum Tool {
  struct Outcome: Sendable {
    let exitCode: Int32
    let output: String
    let errors: String
  }

  static var url: URL {
    #if os(macOS)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
      return bundle.bundleURL.deletingLastPathComponent().appendingPathComponent("DuplicateFinder")
    #else
      return Bundle.main.bundleURL.appendingPathComponent("DuplicateFinder")
    #endif
  }

  static func run(_ arguments: [String]) async throws -> Outcome {
    try await runShell("exec \"$0\" \"$@\"", arguments)
  }

  /// Runs a script in which `"$0" "$@"` is the program with its arguments.
  static func runShell(_ script: String, _ arguments: [String]) async throws -> Outcome {
    let folder = try TemporaryFolder()
    // Output goes to files, so that the program never waits for a reader.
    try folder.write("", to: "output")
    try folder.write("", to: "errors")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-c", script, url.path] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(
      forWritingTo: folder.url.appendingPathComponent("output"))
    process.standardError = try FileHandle(
      forWritingTo: folder.url.appendingPathComponent("errors"))
    let exitCode = try await process.runAsFuture().value
    let text = { (name: String) in
      String(decoding: try Data(contentsOf: folder.url.appendingPathComponent(name)), as: UTF8.self)
    }
    return Outcome(exitCode: exitCode, output: try text("output"), errors: try text("errors"))
  }
}
