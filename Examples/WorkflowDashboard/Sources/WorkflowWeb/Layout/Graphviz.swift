import ExampleSupport
import Foundation
import Properations

/// The program `dot` of Graphviz.
///
/// The graph and the layout are files, so no pipe can fill up while the program waits.
struct Graphviz: Sendable {
  /// The error for a layout that could not be made; the text is for people.
  struct Failure: Error, Equatable {
    let text: String
  }

  /// How long a layout may take.
  private static let patience = Duration.seconds(30)

  private let program: URL?
  private let queue: OperationQueue

  /// - Parameters:
  ///   - path: The folders in which the program is looked for, separated by colons.
  ///   - queue: The queue in which layouts are made, so that only some run at a time.
  init(path: String?, on queue: OperationQueue) {
    let folders =
      (path ?? "").split(separator: ":").map(String.init) + ["/opt/homebrew/bin", "/usr/local/bin"]
    program = folders.map { URL(fileURLWithPath: "\($0)/dot") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    self.queue = queue
  }

  /// Lays a graph out.
  ///
  /// - Returns: The answer of Graphviz, in JSON.
  func layout(_ description: GraphDescription) async throws(Failure) -> Data {
    guard let program else {
      throw Failure(
        text: "Graphviz is not installed, so there is no drawing. Install the package 'graphviz'.")
    }
    do {
      let folder = try makePrivateFolder(for: "WorkflowWeb")
      defer { try? FileManager.default.removeItem(at: folder) }
      let input = folder.appendingPathComponent("in")
      let output = folder.appendingPathComponent("out")
      try Data(description.text.utf8).write(to: input)

      let process = Process()
      process.executableURL = program
      process.arguments = ["-Tjson0", "-o", output.path, input.path]
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      let status = try await process.runAsFuture(in: queue).timeout(after: Self.patience).value
      guard status == 0 else { throw Failure(text: "Graphviz has failed with status \(status).") }
      return try Data(contentsOf: output)
    } catch let failure as Failure {
      throw failure
    } catch ProperationsError.timedOut {
      throw Failure(text: "Graphviz has taken too long, so there is no drawing.")
    } catch {
      throw Failure(text: "Graphviz cannot be run: \(error.message)")
    }
  }
}
