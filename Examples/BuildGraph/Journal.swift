import ExampleSupport
import Foundation
import Synchronization

/// The state file: a line whenever a build begins, which makes the target's
/// record void, and a line with the new record when it has ended well.
///
/// Nothing is ever rewritten while commands run, so that whatever ends the
/// program, even a power cut, leaves a file that says which builds ended well.
///
/// It is not a `WorkflowJournal`, because that has another task. A `WorkflowJournal`
/// lets one run of a workflow go on where its process ended: a recorded task is
/// finished from the beginning. Here every build is a new run, nearly always of
/// another part of the graph, and a record is no result but what the decision needs
/// whether a task has work to do: it is compared with the files as they are now,
/// prerequisites first, so that a target may turn out unchanged while the build goes
/// on. A `WorkflowJournal` would have to be read and then reset task by task, would
/// drop the records of the targets that this build does not want, and syncs for each
/// task, which costs more than most commands; a lost record costs a command here.
final class Journal: Sendable {
  private struct Line: Codable {
    let target: String
    var record: Record?
  }

  /// Why there is no journal.
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

  /// What the file says.
  private struct Contents {
    var records: [String: Record] = [:]
    /// Whether it holds anything else: lines that are void or torn.
    var hasWaste = false
  }

  private let path: String
  /// The open file: a process that has it too keeps it locked.
  let descriptor: Int32
  private let writing = Mutex(false)
  /// What is known from before.
  let records: [String: Record]

  /// Opens the journal, for one program at a time, and drops what is void.
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
    // Written in one go: a crash between the two loses records, and so costs a
    // build too many, but never one too few.
    guard ftruncate(descriptor, 0) == 0, Self.write(text, to: descriptor) else {
      throw .unusable(path, errno)
    }
  }

  /// Lets other programs use the file.
  ///
  /// Watchdogs have the file open too, so that it stays locked while commands are
  /// ended whose build was killed.
  func unlock() { flock(descriptor, LOCK_UN) }

  deinit { close(descriptor) }

  /// What a journal says, without using it.
  static func records(in path: String) -> [String: Record] { contents(of: path).records }

  private static func contents(of path: String) -> Contents {
    var contents = Contents()
    guard let bytes = try? TextFile.read(path), !bytes.isEmpty else { return contents }
    let decoder = JSONDecoder()
    for line in bytes.split(separator: 0x0A) {
      // (The last line may be torn.)
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

  /// Notes that a build begins.
  func begin(_ target: String) throws(Failure) { try append(Line(target: target)) }

  /// Notes that a build has ended well.
  func end(_ target: String, _ record: Record) throws(Failure) {
    try append(Line(target: target, record: record))
  }

  private func append(_ line: Line) throws(Failure) {
    let text = Self.text(of: line)
    let code = writing.withLock { _ in Self.write(text, to: descriptor) ? 0 : errno }
    guard code == 0 else { throw .unusable(path, code) }
  }

  /// The line as JSON; written by hand, since there are two for each command.
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
  /// The text as JSON has it.
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
