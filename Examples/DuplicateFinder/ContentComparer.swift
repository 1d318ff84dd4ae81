import Foundation
import Properations

/// Tells which files of the same size have the same content.
struct ContentComparer: Sendable {
  /// Enough to tell most files apart, and all of most files.
  static let beginning: Int64 = 32 << 10
  /// How many bytes of files are kept in memory in order to compare them.
  private static let memory: Int64 = 64 << 20
  /// So few bytes are read one file after the other.
  static let little: Int64 = 2 << 20

  private let queue: OperationQueue
  private let width: Int
  private let findings: Findings
  private let reader: ContentReader

  init(on queue: OperationQueue, width: Int, until scope: CancellationScope, findings: Findings) {
    self.queue = queue
    self.width = width
    self.findings = findings
    reader = ContentReader(until: scope, findings: findings)
  }

  /// A file, and what it has in common with those that may be equal.
  private struct Reading: Sendable {
    let file: File
    let content: Content
  }

  /// All groups of files with the same content.
  ///
  /// - Parameter files: Sets of files of the same size, one set after the other.
  func duplicates(among files: [File]) -> Future<[DuplicateGroup]> {
    guard let size = files.first?.status.size, size > 0 else {
      return Promises.makeSucceeded(with: [DuplicateGroup(of: files)])
    }
    let bytes = files.reduce(0) { $0 + $1.beginning }
    guard bytes <= Self.memory / Int64(width) else {
      return splitting(files, reading: bytes) { try reader.digest(of: $0, $0.beginning) }
    }
    return split(files, reading: bytes) { try reader.beginning(of: $0, $0.beginning) }
      .mapToFuture(on: .inline) { alike in
        var groups: [DuplicateGroup] = []
        var open: [[File]] = []
        for files in alike {
          if files[0].status.size > Self.beginning {
            open.append(files)
          } else {
            groups.append(DuplicateGroup(of: files))
          }
        }
        return compare(each: open, beside: groups)
      }
  }

  /// Compares the files of each set; those of different sets differ.
  private func compare(
    each sets: [[File]], beside groups: [DuplicateGroup] = []
  ) -> Future<[DuplicateGroup]> {
    if sets.isEmpty { return Promises.makeSucceeded(with: groups) }
    return Promises.makeSucceeded(with: sets)
      .mapElementsToFuture(on: .inline, maxConcurrent: width) { compare($0) }
      .mapToValue(on: .inline) { groups + $0.joined() }
  }

  /// Compares those files that have the same digest, which only saves work.
  private func splitting(
    _ files: [File], reading bytes: Int64, by digest: @escaping @Sendable (File) throws -> Int
  ) -> Future<[DuplicateGroup]> {
    split(files, reading: bytes) { Content(of: $0.status.size, digest: try digest($0)) }
      .mapToFuture(on: .inline) { compare(each: $0) }
  }

  /// Splits files by their content; drops those that are alone.
  ///
  /// The future of each file is made where its closure runs. So a place in the queue
  /// does one file after the other, and files cost no hop each.
  private func split(
    _ files: [File], reading bytes: Int64, by content: @escaping @Sendable (File) throws -> Content
  ) -> Future<[[File]]> {
    Promises.makeSucceeded(with: files)
      .compactMapElementsToFuture(on: queue, maxConcurrent: width(reading: bytes)) { file in
        do {
          return Promises.makeSucceeded(with: Reading(file: file, content: try content(file)))
        } catch let problem as Problem {
          findings.add(problem)
          return Promises.makeSucceeded(with: nil)
        }
      }
      .mapToValue(on: .inline) { readings in
        var places: [Content: Int] = [:]
        var sets: [[File]] = []
        for reading in readings {
          if let place = places[reading.content] {
            sets[place].append(reading.file)
          } else {
            places[reading.content] = sets.count
            sets.append([reading.file])
          }
        }
        return sets.filter { $0.count > 1 }
      }
  }

  /// How many files of a set are read at a time.
  ///
  /// Sets are compared side by side, and the files of a small one in one place of the
  /// queue.
  private func width(reading bytes: Int64) -> Int { bytes <= Self.little ? 1 : width }

  /// Compares the first file with each of the others; those that differ from
  /// it start over among themselves.
  func compare(_ files: [File]) -> Future<[DuplicateGroup]> {
    guard let first = files.first, files.count > 1 else { return Promises.makeSucceeded(with: []) }
    let bytes = first.status.size * Int64(files.count)
    return Promises.makeSucceeded(with: files.dropFirst())
      .mapElementsToFuture(on: queue, maxConcurrent: width(reading: bytes)) { other in
        do {
          let isEqual = try reader.isEqual(first, other)
          return Promises.makeSucceeded(with: isEqual ? Verdict.equal(other) : .unequal(other))
        } catch let problem as Problem {
          return Promises.makeSucceeded(with: Verdict.failed(other, problem))
        }
      }
      .mapToFuture(on: .inline) { verdicts in
        let (equal, unequal) = sort(verdicts, against: first)
        let others = compareAmongThemselves(unequal)
        guard !equal.isEmpty else { return others }
        let group = DuplicateGroup(of: [first] + equal)
        return others.mapToValue(on: .inline) { [group] + $0 }
      }
  }

  /// Compares files that differ from another one.
  ///
  /// Most files that begin alike are equal, and comparing them at once reads them
  /// twice. If many are not, a digest finds out which may be equal at all: comparing
  /// each with each other one would take longer and longer.
  private func compareAmongThemselves(_ files: [File]) -> Future<[DuplicateGroup]> {
    guard files.count > 2, let size = files.first?.status.size else { return compare(files) }
    return splitting(files, reading: size * Int64(files.count)) {
      try reader.digest(of: $0, size)
    }
  }

  private enum Verdict: Sendable {
    case equal(File)
    case unequal(File)
    case failed(File, Problem)
  }

  private func sort(
    _ verdicts: [Verdict], against first: File
  ) -> (equal: [File], unequal: [File]) {
    var (equal, unequal): ([File], [File]) = ([], [])
    var firstHasFailed = false
    for verdict in verdicts {
      switch verdict {
      case .equal(let file): equal.append(file)
      case .unequal(let file): unequal.append(file)
      case .failed(let file, let problem):
        findings.add(problem)
        guard problem.path == first.path else { continue }
        firstHasFailed = true
        unequal.append(file)
      }
    }
    // What it was compared with before it changed is open again.
    return firstHasFailed ? ([], equal + unequal) : (equal, unequal)
  }
}

extension File {
  /// How much of the file is read at first.
  var beginning: Int64 { min(status.size, ContentComparer.beginning) }
}
