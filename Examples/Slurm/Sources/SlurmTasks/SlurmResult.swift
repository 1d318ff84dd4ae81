import Foundation

/// What a command has left when it has ended with exit code 0.
public struct SlurmResult: Sendable, Hashable, Codable {
  /// The number that Slurm has given the job.
  public let jobID: Int
  /// The node on which the command ran; empty if Slurm does not tell.
  public let node: String
  /// The end of the standard output.
  public let output: String
  /// The end of the standard error.
  public let errors: String
  /// The file of the whole standard output.
  public let outputFile: URL
  /// The file of the whole standard error.
  public let errorsFile: URL
}

/// Why a command on a cluster has no result.
public enum SlurmError: LocalizedError, Sendable, Hashable {
  /// A program of Slurm cannot be started.
  case cannotStart(program: String)
  /// Slurm does not accept the job; the text is what `sbatch` says.
  case refused(String)
  /// The file of a job cannot be written or read.
  case file(path: String, reason: String)
  /// The command has ended with another exit code than 0.
  case exited(code: Int32, SlurmResult)
  /// A signal has ended the command.
  case killed(signal: Int32, SlurmResult)
  /// The node has failed while the command ran, or another job has taken its place.
  case nodeFailed(node: String, reason: String)
  /// The command has run longer than its time limit or that of the partition.
  case timedOut(jobID: Int)
  /// The command has used more memory than it may.
  case outOfMemory(jobID: Int)
  /// Someone has cancelled the job, but not this program.
  case cancelled(jobID: Int)
  /// Slurm does not know the job any more, and the job has left no note of its end.
  case vanished(jobID: Int)

  /// Whether the same command may succeed when it is submitted again.
  public var isWorthAnotherTry: Bool {
    switch self {
    case .nodeFailed, .vanished: true
    default: false
    }
  }

  /// Says what happened and what to do about it, in a sentence or two.
  public var errorDescription: String? {
    switch self {
    case .cannotStart(let program):
      "'\(program)' cannot be started. Install Slurm's client programs, and check PATH."
    case .refused(let text):
      "Slurm does not accept the job: \(text) Check the job's partition, limits and options."
    case .file(let path, let reason):
      "\(path): \(reason). The folder of the cluster must be one that all nodes share."
    case .exited(let code, let result):
      "The command has ended with exit code \(code). Its messages are in "
        + "\(result.errorsFile.path)."
    case .killed(let signal, let result):
      "Signal \(signal) has ended the command. Its messages are in \(result.errorsFile.path)."
    case .nodeFailed(let node, let reason):
      "The node '\(node)' has failed (\(reason)). Submit the job again; a SlurmTask does so by "
        + "itself."
    case .timedOut(let id):
      "Job \(id) has run longer than it may. Raise the job's timeLimit, or choose another "
        + "partition."
    case .outOfMemory(let id):
      "Job \(id) has used more memory than it may. Raise the job's memory."
    case .cancelled(let id):
      "Job \(id) was cancelled by someone else. Ask the cluster's administrator."
    case .vanished(let id):
      "Slurm does not know job \(id) any more. Submit the job again; a SlurmTask does so by "
        + "itself."
    }
  }
}
