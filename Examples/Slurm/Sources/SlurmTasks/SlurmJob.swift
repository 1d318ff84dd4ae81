import Foundation

/// A command that a cluster runs.
///
/// ```swift
/// var job = SlurmJob("align", "--threads", "4", sample.path)
/// job.processors = 4
/// job.memory = 2_000
/// job.timeLimit = .seconds(3_600)
/// ```
public struct SlurmJob: Sendable, Hashable {
  /// The program and its arguments; no shell reads them.
  public var command: [String]
  /// The partition; the cluster's default partition if `nil`.
  public var partition: String?
  /// The number of processors; less than one counts as one.
  public var processors = 1
  /// The memory in mebibytes; the cluster's default if `nil`.
  public var memory: Int?
  /// The longest time that the command may run; the partition's limit if `nil`.
  ///
  /// Slurm counts in minutes, so the time is rounded up.
  public var timeLimit: Duration?
  /// The folder in which the command runs; the program's present one if `nil`.
  public var workingFolder: URL?
  /// Variables that are set for the command, besides those of this program.
  public var environment: [String: String] = [:]
  /// Further options of `sbatch`, such as `--constraint=gpu`.
  public var options: [String] = []

  /// Makes a job.
  ///
  /// - Parameter command: The program and its arguments.
  public init(_ command: String...) { self.init(command: command) }

  /// Makes a job.
  ///
  /// - Parameter command: The program and its arguments.
  public init(command: [String]) { self.command = command }

  /// Makes a job of a script for `/bin/sh`.
  ///
  /// - Parameter text: The script; it ends at the first command that fails.
  public static func script(_ text: String) -> SlurmJob { SlurmJob("/bin/sh", "-e", "-c", text) }
}

extension SlurmJob {
  /// The options of `sbatch` for this job.
  var sbatchOptions: [String] {
    var all = ["--cpus-per-task=\(max(processors, 1))"]
    if let partition { all.append("--partition=\(partition)") }
    if let memory { all.append("--mem=\(max(memory, 1))M") }
    if let timeLimit {
      let minutes = min(max(timeLimit, .zero), .seconds(1 << 31)).components.seconds / 60
      let isWhole = timeLimit == .seconds(minutes * 60) && minutes > 0
      all.append("--time=\(isWhole ? minutes : minutes + 1)")
    }
    return all + options
  }

  /// The script that Slurm starts.
  ///
  /// It notes the exit code in a file when the command has ended. A coordinator that was
  /// away at that moment, even for days, reads it there; Slurm itself forgets ended jobs.
  func script(notingEndIn end: URL) -> String {
    var lines = ["#!/bin/sh"]
    for (name, value) in environment.sorted(by: { $0.key < $1.key }) {
      lines.append("export \(name)=\(value.quotedForShell)")
    }
    let command = command.map(\.quotedForShell).joined(separator: " ")
    let (part, whole) = ((end.path + ".part").quotedForShell, end.path.quotedForShell)
    lines += [
      command, "code=$?",
      "echo \"$code $SLURM_JOB_ID $SLURMD_NODENAME\" > \(part) && mv \(part) \(whole)",
      "exit $code",
    ]
    return lines.joined(separator: "\n") + "\n"
  }
}

extension String {
  /// The text as one word of a shell command.
  var quotedForShell: String { "'" + replacingOccurrences(of: "'", with: "'\\''") + "'" }

  /// The path as a pattern of `sbatch`, which replaces signs after `%`.
  var asPattern: String { replacingOccurrences(of: "%", with: "%%") }

  /// The text as a name for files and jobs.
  ///
  /// It has no blanks, separators or control characters, and at most 160 bytes. Different
  /// texts have different names.
  var asJobName: String {
    var name = ""
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        name.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        name += "=" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    guard name.utf8.count > 160 else { return name }
    // FNV-1a, because a name must be the same in every process.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return name.prefix(140) + "." + String(hash, radix: 16)
  }
}
