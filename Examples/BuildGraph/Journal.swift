import ExampleSupport
import Foundation
import Synchronization

/// The state file.
///
/// A line at the beginning of a build makes the target's record void; a line at its
/// successful end has the new record.
///
/// The file is never rewritten while commands run. So it tells which builds succeeded,
/// whatever ends the program, even a power cut.
///
/// It is not a `WorkflowJournal`, which has another purpose: it lets one run of a
/// workflow continue after its process has ended, and a recorded task counts as finished
/// from the beginning. Here every build is a new run, usually of another part of the
/// graph. A record is no result; it serves to decide whether a task has work to do. The
/// task compares it with the current files, prerequisites first, so a target may turn out
/// unchanged during the build. A `WorkflowJournal` would have to be read and then reset
/// task by task, and it would drop the records of targets that this build does not want.
/// It also syncs after each task, which costs more than most commands; here a lost record
/// costs only a command.
final class Journal: Sendable {
  private struct Line: Codable {
    let target: String
    var record: Record?
  }

  /// The error for a state file that cannot be used.
  enum Failure: Error, CustomStringConvertible {
    case inUse(String)
    case unusable(String, Int32)

    var description: String {
      switch self {
      case .inUse(let path): "another build is using '\(path)'; wait until it has ended"
      case .unusable(let path, let code): "cannot use '\(path)': \(String(cString: strerror(code)))"
      }
    }
  }

  /// The content of the file.
  private struct Contents {
    var records: [String: Record] = [:]
    /// Whether the file has other lines, void or incomplete ones.
    var hasWaste = false
  }

  private let path: String
  /// The open file; a process that inherits it keeps it locked.
  let descriptor: Int32
  /// Whether the last line is incomplete, for example because the disk was full.
  private let isMidLine = Mutex(false)
  /// The records of previous builds.
  let records: [String: Record]

  /// Opens and locks the journal, and drops void records.
  init(path: String, keeping targets: Set<String>) throws(Failure) {
    self.path = path
    let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw .unusable(path, errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      close(descriptor)
      throw code == EWOULDBLOCK ? .inUse(path) : .unusable(path, code)
    }
    self.descriptor = descriptor
    let contents = Self.contents(of: path)
    records = contents.records.filter { targets.contains($0.key) }
    if !contents.hasWaste, records.count == contents.records.count { return }
    let text = records.sorted { $0.key < $1.key }
      .map { Self.text(of: Line(target: $0.key, record: $0.value)) }.joined()
    // A crash between truncation and write loses records. That causes unneeded builds,
    // but no missing ones.
    guard ftruncate(descriptor, 0) == 0, Self.write(text, to: descriptor) else {
      throw .unusable(path, errno)
    }
  }

  /// Lets other programs use the file.
  ///
  /// The watchdogs have the file open too. If the build is killed, the file stays locked
  /// until they have ended the commands.
  func unlock() { flock(descriptor, LOCK_UN) }

  deinit { close(descriptor) }

  /// Reads the records of a journal without locking it.
  static func records(in path: String) -> [String: Record] { contents(of: path).records }

  private static func contents(of path: String) -> Contents {
    var contents = Contents()
    guard let bytes = try? TextFile.read(path), !bytes.isEmpty else { return contents }
    let decoder = JSONDecoder()
    for line in bytes.split(separator: 0x0A) {
      // The last line may be incomplete.
      guard let line = try? decoder.decode(Line.self, from: Data(line)) else {
        contents.hasWaste = true
        continue
      }
      let previous = contents.records[line.target]
      contents.records[line.target] = line.record
      if previous != nil || line.record == nil { contents.hasWaste = true }
    }
    if bytes.last != 0x0A { contents.hasWaste = true }
    return contents
  }

  /// Records that a build begins.
  func begin(_ target: String) throws(Failure) { try append(Line(target: target)) }

  /// Records that a build has succeeded.
  func end(_ target: String, _ record: Record) throws(Failure) {
    try append(Line(target: target, record: record))
  }

  private func append(_ line: Line) throws(Failure) {
    let text = Self.text(of: line)
    let code = isMidLine.withLock { isMidLine in
      // An incomplete line must not spoil this one.
      let isWritten = Self.write(isMidLine ? "\n" + text : text, to: descriptor)
      let code = isWritten ? 0 : errno
      isMidLine = !isWritten
      return code
    }
    guard code == 0 else { throw .unusable(path, code) }
  }

  /// The line as JSON, written without an encoder for speed: each command needs two
  /// lines.
  private static func text(of line: Line) -> String {
    guard let record = line.record else { return "{\"target\":\(line.target.asJSON)}\n" }
    let found = record.found?.sorted { $0.key < $1.key }
      .map { "\($0.key.asJSON):\($0.value.text.asJSON)" }.joined(separator: ",")
    return "{\"target\":\(line.target.asJSON),\"record\":{\"isFile\":\(record.isFile)"
      + ",\"prerequisites\":[" + record.prerequisites.map(\.asJSON).joined(separator: ",")
      + "],\"stamps\":[" + record.stamps.map(\.text.asJSON).joined(separator: ",")
      + "],\"stamp\":\(record.stamp.text.asJSON),\"script\":\(record.script.asJSON)"
      + (found.map { ",\"found\":{\($0)}" } ?? "") + "}}\n"
  }

  private static func write(_ text: String, to descriptor: Int32) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno != EINTR { return false }
      rest = rest.dropFirst(max(count, 0))
    }
    return true
  }
}

extension String {
  /// The text as a JSON string.
  fileprivate var asJSON: String {
    var bytes = [UInt8(ascii: "\"")]
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += Array("\\n".utf8)
      case 0..<0x20: bytes += Array(String(format: "\\u%04x", byte).utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
  }
}
