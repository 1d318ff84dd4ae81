import Foundation
import Synchronization

/// The state file: a line whenever a build begins, which makes the target's
/// record void, and a line with the new record when it has ended well.
///
/// Nothing is ever rewritten while commands run, so that whatever ends the
/// program, even a power cut, leaves a file that says which builds ended well.
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

  private let path: String
  private let descriptor: Int32
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
    records = Self.records(in: path).filter { targets.contains($0.key) }
    let text = records.sorted { $0.key < $1.key }
      .map { Self.text(of: Line(target: $0.key, record: $0.value)) }.joined()
    // Written in one go: a crash between the two loses records, and so costs a
    // build too many, but never one too few.
    guard ftruncate(descriptor, 0) == 0, Self.write(text, to: descriptor) else {
      throw .unusable(path, errno)
    }
  }

  deinit { close(descriptor) }

  /// What a journal says, without using it.
  static func records(in path: String) -> [String: Record] {
    var records: [String: Record] = [:]
    let decoder = JSONDecoder()
    for line in (FileManager.default.contents(atPath: path) ?? Data()).split(separator: 0x0A) {
      // (The last line may be torn.)
      guard let line = try? decoder.decode(Line.self, from: line) else { continue }
      records[line.target] = line.record
    }
    return records
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

  private static func text(of line: Line) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Strings and a flag can always be encoded.
    let data = (try? encoder.encode(line)) ?? Data()
    return String(decoding: data, as: UTF8.self) + "\n"
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
