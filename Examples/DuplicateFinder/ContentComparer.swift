import Foundation
import Properations

/// Finds out which files of the same size have the same content.
struct ContentComparer: Sendable {
  /// The number of bytes that are read first.
  ///
  /// Most files differ within them, or are not longer.
  static let beginning: Int64 = 32 << 10
  /// The limit for the bytes that are kept in memory for comparison.
  private static let memory: Int64 = 64 << 20
  /// The limit up to which the files of a set are read one after the other.
  private static let little: Int64 = 2 << 20

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

  /// A file and its content, as the key for splitting.
  private struct Reading: Sendable {
    let file: File
    let content: Content
  }

  /// Returns all groups of files with the same content.
  ///
  /// - Parameter files: Files of the same size.
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
        size > Self.beginning
          ? compare(each: alike) : Promises.makeSucceeded(with: alike.map(DuplicateGroup.init))
      }
  }

  /// Compares the files within each set; files of different sets are known to differ.
  private func compare(each sets: [[File]]) -> Future<[DuplicateGroup]> {
    Promises.traverse(sets, on: .inline, maxConcurrent: width) { compare($0) }
      .mapToValue(on: .inline) { Array($0.joined()) }
  }

  /// Compares the files that have the same digest.
  ///
  /// The digest only saves comparisons.
  private func splitting(
    _ files: [File], reading bytes: Int64, by digest: @escaping @Sendable (File) throws -> Int
  ) -> Future<[DuplicateGroup]> {
    split(files, reading: bytes) { Content(of: $0.status.size, digest: try digest($0)) }
      .mapToFuture(on: .inline) { compare(each: $0) }
  }

  /// Splits files by their content, and drops files whose content is unique.
  ///
  /// The closure returns settled futures, so one slot of the queue handles one file after
  /// the other without a hop for each file.
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

  /// The number of files of a set that are read at a time.
  ///
  /// Sets are compared in parallel. The files of a small set share one slot of the queue.
  private func width(reading bytes: Int64) -> Int { bytes <= Self.little ? 1 : width }

  /// Compares the first file with each of the others.
  ///
  /// The files that differ from it are then compared among themselves.
  func compare(_ files: [File]) -> Future<[DuplicateGroup]> {
    guard let first = files.first, files.count > 1 else { return Promises.makeSucceeded(with: []) }
    let bytes = first.status.size * Int64(files.count)
    return Promises.traverse(
      files.dropFirst(), on: queue, maxConcurrent: width(reading: bytes)
    ) { other in
      Promises.makeSucceeded(with: try verdict(on: other, comparedWith: first))
    }
    .mapToFuture(on: .inline) { verdicts in
      let (equal, unequal) = sort(verdicts, against: first)
      let others = compareAmongThemselves(unequal)
      guard !equal.isEmpty else { return others }
      let group = DuplicateGroup(of: [first] + equal)
      return others.mapToValue(on: .inline) { [group] + $0 }
    }
  }

  /// Compares files that differ from the first file of their set.
  ///
  /// Most files with the same beginning are equal, so `compare` starts without digests.
  /// If more than two files differ from the first, digests find out which of them can be
  /// equal. Comparing each file with each other file would take quadratic time.
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

  private func verdict(on other: File, comparedWith first: File) throws -> Verdict {
    do {
      return try reader.isEqual(first, other) ? .equal(other) : .unequal(other)
    } catch let problem as Problem {
      return .failed(other, problem)
    }
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
    // The first file has changed, so the earlier comparisons with it do not count.
    return firstHasFailed ? ([], equal + unequal) : (equal, unequal)
  }
}

extension File {
  /// The number of bytes of the file that are read first.
  var beginning: Int64 { min(status.size, ContentComparer.beginning) }
}
