import Foundation
import Properations

/// Tells which files of the same size have the same content.
struct ContentComparer: Sendable {
  /// Enough to tell most files apart.
  private static let beginning: Int64 = 16 << 10

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

  /// All groups of files with the same content.
  ///
  /// - Parameter files: Files of the same size.
  func duplicates(among files: [File]) -> Future<[DuplicateGroup]> {
    guard let size = files.first?.status.size, size > 0 else {
      return Promises.makeSucceeded(with: [DuplicateGroup(of: files)])
    }
    return split(files, byDigestOf: Self.beginning)
      .mapElementsToFuture(on: .inline, maxConcurrent: width) { files in
        size > Self.beginning
          ? split(files, byDigestOf: size) : Promises.makeSucceeded(with: [files])
      }
      .mapToValue(on: .inline) { $0.flatMap { $0 } }
      .mapElementsToFuture(on: .inline, maxConcurrent: width) { compare($0) }
      .mapToValue(on: .inline) { $0.flatMap { $0 } }
  }

  /// Splits files by a digest of their beginning; drops those that are alone.
  ///
  /// A pair is left as it is: to compare it takes no longer than to digest it.
  private func split(_ files: [File], byDigestOf length: Int64) -> Future<[[File]]> {
    guard files.count > 2 else { return Promises.makeSucceeded(with: [files]) }
    return Promises.makeSucceeded(with: files)
      .compactMapElementsToFuture(on: .inline, maxConcurrent: width) { file in
        Promises.run(on: queue) { (file, try reader.digest(of: file, length)) }
          .recover(on: .inline, from: Problem.self) { problem in
            findings.add(problem)
            return nil
          }
      }
      .mapToValue(on: .inline) { digested in
        Dictionary(grouping: digested, by: \.1).values
          .filter { $0.count > 1 }
          .map { $0.map(\.0) }
      }
  }

  /// Compares the first file with each of the others; those that differ from
  /// it start over among themselves.
  func compare(_ files: [File]) -> Future<[DuplicateGroup]> {
    guard let first = files.first, files.count > 1 else { return Promises.makeSucceeded(with: []) }
    return Promises.makeSucceeded(with: files.dropFirst())
      .mapElementsToFuture(on: .inline, maxConcurrent: width) { other in
        Promises.run(on: queue) {
          try reader.isEqual(first, other) ? .equal(other) : .unequal(other)
        }
        .recover(on: .inline, from: Problem.self) { .failed(other, $0) }
      }
      .mapToFuture(on: .inline) { verdicts in
        let (equal, unequal) = sort(verdicts, against: first)
        guard !equal.isEmpty else { return compare(unequal) }
        let group = DuplicateGroup(of: [first] + equal)
        return compare(unequal).mapToValue(on: .inline) { [group] + $0 }
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
