import ExampleSupport
import Foundation
import Properations

/// Runs Slurm's client programs.
struct SlurmPrograms: Sendable {
  /// How a program has ended.
  struct Answer: Sendable {
    let status: Int32
    let output: String
    let errors: String
  }

  private let queue: OperationQueue
  private let environment: [String: String]?

  /// How often, and how soon, a cancellation is tried again.
  ///
  /// The controller refuses while it starts or is busy.
  var cancelRetries = RetryPolicy(
    attempts: 5, delay: .exponential(.milliseconds(500)), deadline: .seconds(60))

  /// - Parameters:
  ///   - limit: How many programs may run at a time.
  ///   - environment: The environment of the programs; that of this program if `nil`.
  init(limit: Int = 4, environment: [String: String]? = nil) {
    self.environment = environment
    queue = OperationQueue()
    queue.name = "Slurm programs"
    queue.maxConcurrentOperationCount = limit
  }

  /// Runs a program that is found in `PATH`.
  ///
  /// The output goes through files, so no thread has to empty a pipe while the program runs.
  func run(_ program: String, _ arguments: [String]) -> Future<Answer> {
    let folder: URL
    do { folder = try makePrivateFolder(for: "slurm") } catch {
      let place = FileManager.default.temporaryDirectory
      return Promises.makeFailed(with: SlurmError.file(path: place.path, reason: error.message))
    }
    let (output, errors) = (
      folder.appendingPathComponent("output"), folder.appendingPathComponent("errors")
    )
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    do {
      for file in [output, errors] { try Data().write(to: file) }
      process.standardOutput = try FileHandle(forWritingTo: output)
      process.standardError = try FileHandle(forWritingTo: errors)
    } catch {
      try? FileManager.default.removeItem(at: folder)
      return Promises.makeFailed(with: SlurmError.file(path: folder.path, reason: error.message))
    }
    return process.runAsFuture(in: queue).mapToValue(on: .inline) { status in
      // `env` ends with 127 if it cannot find the program.
      if status == 127 { throw SlurmError.cannotStart(program: program) }
      return Answer(
        status: status, output: Self.text(of: output), errors: Self.text(of: errors))
    }.always(on: .inline) { try? FileManager.default.removeItem(at: folder) }
  }

  private static func text(of file: URL) -> String {
    String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self)
  }

  /// Submits a script; the future has the job's number.
  func submit(_ script: URL, options: [String]) -> Future<Int> {
    run("sbatch", ["--parsable", "--no-requeue", "--export=ALL"] + options + [script.path])
      .mapToValue(on: .inline) { answer in
        // `--parsable` prints the number and, on some systems, the cluster.
        let first = answer.output.split(whereSeparator: { ";\n".contains($0) }).first
        guard answer.status == 0, let id = first.flatMap({ Int($0) }) else {
          throw SlurmError.refused(
            answer.errors.isEmpty
              ? "sbatch ended with \(answer.status)."
              : answer.errors.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        return id
      }
  }

  /// Asks for the states of jobs, in one query for all.
  ///
  /// - Parameter ids: The jobs; all jobs of the user if `nil`.
  func states(of ids: [Int]?) -> Future<[JobState]> {
    let which = ids.map { "--jobs=" + $0.map(String.init).joined(separator: ",") } ?? "--me"
    return run("squeue", [which, "--states=all", "--noheader", "-O", JobState.format])
      .mapToValue(on: .inline) { answer in
        // One unknown job alone is an error for `squeue`; it is an answer all the same.
        if answer.status != 0, !answer.errors.contains("Invalid job id") {
          throw SlurmError.refused(answer.errors)
        }
        return JobState.all(in: answer.output)
      }
  }

  /// Cancels jobs; those that have ended stay as they are.
  ///
  /// If `scancel` fails, it is tried again: a job that goes on holds nodes that its user has
  /// given up. That a job is unknown, or is ending, is no failure.
  func cancel(_ ids: [Int]) -> Future<Void> {
    Promises.retry(cancelRetries, on: .inline) { _ in
      run("scancel", ids.map(String.init)).mapToValue(on: .inline) { answer in
        let errors = answer.errors.split(separator: "\n").filter { line in
          !["Invalid job id", "already completing or completed"].contains { line.contains($0) }
        }
        if answer.status != 0, answer.errors.isEmpty || !errors.isEmpty {
          throw SlurmError.refused(answer.errors)
        }
      }
    }
  }
}
