import ExampleSupport
import Foundation

/// The files of one job, in a folder that all nodes share.
struct JobFiles: Sendable {
  let script: URL
  let output: URL
  let errors: URL
  /// The note that the job's script leaves at its end.
  let end: URL

  /// How much of each output is read.
  private static let limit: UInt64 = 64 << 10

  init(of name: String, in folder: URL) {
    script = folder.appendingPathComponent(name + ".sh")
    output = folder.appendingPathComponent(name + ".out")
    errors = folder.appendingPathComponent(name + ".err")
    end = folder.appendingPathComponent(name + ".end")
  }

  /// Writes the script, and forgets what an earlier run has left.
  func prepare(_ job: SlurmJob) throws(SlurmError) {
    do {
      try FileManager.default.createDirectory(
        at: script.deletingLastPathComponent(), withIntermediateDirectories: true)
      for file in [end, output, errors] { try? FileManager.default.removeItem(at: file) }
      try Data(job.script(notingEndIn: end).utf8).write(to: script, options: .atomic)
    } catch {
      throw .file(path: script.path, reason: error.message)
    }
  }

  /// Forgets the end of a run.
  func forgetEnd() { try? FileManager.default.removeItem(at: end) }

  /// The note of the end: exit code, job and node; `nil` if there is none.
  func noteOfEnd() -> (code: Int32, jobID: Int, node: String)? {
    guard let data = try? Data(contentsOf: end) else { return nil }
    let words = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard words.count >= 2, let code = Int32(words[0]), let id = Int(words[1]) else { return nil }
    return (code, id, words.count > 2 ? String(words[2]) : "")
  }

  /// What the job has left.
  func result(jobID: Int, node: String) -> SlurmResult {
    SlurmResult(
      jobID: jobID, node: node, output: Self.lastPart(of: output),
      errors: Self.lastPart(of: errors),
      outputFile: output, errorsFile: errors)
  }

  private static func lastPart(of file: URL) -> String {
    guard let handle = try? FileHandle(forReadingFrom: file) else { return "" }
    defer { try? handle.close() }
    let size = (try? handle.seekToEnd()) ?? 0
    try? handle.seek(toOffset: size > limit ? size - limit : 0)
    let data = (try? handle.read(upToCount: Int(limit))) ?? Data()
    return String(decoding: data, as: UTF8.self)
  }
}
