import Foundation
import Futures

/// A program of the package, run as a user runs it.
package struct Program: Sendable {
  package struct Outcome: Sendable {
    /// The exit status, or 128 plus the number of the signal that ended the program.
    package let exitCode: Int32
    package let output: String
    package let errors: String
  }

  private let name: String

  /// - Parameter name: The name of an executable target that the test target
  ///   depends on.
  package init(_ name: String) { self.name = name }

  package var url: URL {
    #if os(macOS)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
      return bundle.bundleURL.deletingLastPathComponent().appendingPathComponent(name)
    #else
      return Bundle.main.bundleURL.appendingPathComponent(name)
    #endif
  }

  /// Runs the program to its end.
  ///
  /// - Parameters:
  ///   - arguments: Its arguments.
  ///   - folder: The current folder.
  ///   - input: What it reads from standard input.
  package func run(
    _ arguments: [String], in folder: URL? = nil, input: String = ""
  ) async throws -> Outcome {
    let streams = try TemporaryFolder("Program")
    // The streams are files, so no thread has to read or write while the program runs.
    for name in ["output", "errors"] { try streams.write("", to: name) }
    try streams.write(input, to: "input")
    let process = Process()
    process.executableURL = url
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = folder }
    process.standardInput = try FileHandle(forReadingFrom: streams.file("input"))
    process.standardOutput = try FileHandle(forWritingTo: streams.file("output"))
    process.standardError = try FileHandle(forWritingTo: streams.file("errors"))
    let exitCode = try await Self.launch(process).value
    return Outcome(
      exitCode: exitCode, output: try streams.read("output"), errors: try streams.read("errors"))
  }

  /// Starts the program at a terminal.
  ///
  /// - Returns: The process, and a future of its exit status.
  package func start(
    _ arguments: [String], at terminal: Terminal, in folder: URL? = nil
  ) throws -> (process: Process, exitCode: Future<Int32>) {
    let process = Process()
    process.executableURL = url
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = folder }
    process.standardInput = terminal.processSide
    process.standardOutput = terminal.processSide
    process.standardError = terminal.processSide
    return (process, try Self.launch(process))
  }

  /// Launches a process on a thread that also waits for its end.
  ///
  /// Foundation keeps a process forever unless the thread that launched it waits for it.
  package static func launch(_ process: Process) throws -> Future<Int32> {
    let end = Promises.make(promising: Int32.self)
    let (launched, failure) = (Event(), Box<(any Error)?>(nil))
    Thread {
      // Threads of tests block nearly all signals, and a program inherits the mask.
      var none = sigset_t()
      sigemptyset(&none)
      pthread_sigmask(SIG_SETMASK, &none, nil)
      do {
        try process.run()
        launched.signal()
        process.waitUntilExit()
        let isSignal = process.terminationReason == .uncaughtSignal
        end.succeed(with: process.terminationStatus + (isSignal ? 128 : 0))
      } catch {
        failure.value = error
        launched.signal()
      }
    }.start()
    _ = launched.wait()
    if let error = failure.value { throw error }
    return end
  }
}

/// A folder that is removed with its last reference.
package final class TemporaryFolder: Sendable {
  package let url: URL

  package init(_ name: String) throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("\(name)-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  package func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  package func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: file(name).path)
  }

  package func write(_ content: String, to name: String) throws {
    try write(Data(content.utf8), to: name)
  }

  /// Writes a file, and makes the folders around it.
  package func write(_ content: Data, to name: String) throws {
    try FileManager.default.createDirectory(
      at: file(name).deletingLastPathComponent(), withIntermediateDirectories: true)
    try content.write(to: file(name))
  }

  package func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: file(name)), as: UTF8.self)
  }

  package func remove(_ name: String) throws { try FileManager.default.removeItem(at: file(name)) }
}
