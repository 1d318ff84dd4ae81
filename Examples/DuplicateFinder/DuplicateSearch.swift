import Foundation
import Properations

/// The whole search, as one future.
///
///   scan the folders ─▶ group the files by size ─▶ for each size:
///     split by a digest of the beginning ─▶ split by a digest of all
///     ─▶ compare byte by byte
///
/// Digests only save work: what is reported has been compared byte by byte.
final class DuplicateSearch: Sendable {
  let findings = Findings()
  private let options: Options
  private let scope: CancellationScope
  private let width: Int
  private let queue = OperationQueue()

  init(_ options: Options, scope: CancellationScope) {
    self.options = options
    self.scope = scope
    // A comparison has two files open, everything else one file or folder. The
    // queue sees to the limit for all together; the `maxConcurrent` of each
    // step keeps what has no place yet out of memory.
    width = options.openFiles / 2
    queue.name = "DuplicateFinder"
    queue.maxConcurrentOperationCount = width
  }

  /// Starts the search; what it finds is in `findings`, also when cancelled.
  func start() -> Future<Void> {
    let scanner = FolderScanner(on: queue, width: width, until: scope, findings: findings)
    let comparer = ContentComparer(on: queue, width: width, until: scope, findings: findings)
    return scanner.scan(options.paths)
      .mapToValue(on: queue) { [options] in $0.candidates(withEmptyFiles: options.wantsEmptyFiles) }
      .onSuccess(on: .inline) { [findings] in findings.add(candidates: $0.count) }
      .mapElementsToFuture(on: .inline, maxConcurrent: width) { [findings] candidates in
        comparer.duplicates(among: candidates)
          .onSuccess(on: .inline) { findings.add($0) }
      }
      .mapToVoid()
      // A search that was cancelled before it began ends as such, however
      // little there was to do.
      .ensure(on: .inline) { [scope] _ in
        if scope.isCancelled { throw ProperationsError.cancelled }
        return true
      }
      .cancelled(by: scope)
  }
}

extension [File] {
  /// Sets of files of the same size, the largest first.
  func candidates(withEmptyFiles: Bool) -> [[File]] {
    Dictionary(grouping: self, by: \.status.size)
      .filter { size, _ in size > 0 || withEmptyFiles }
      .mapValues(\.withHardLinksMerged)
      .filter { _, files in files.count > 1 }
      .sorted { $0.key > $1.key }
      .map(\.value)
  }

  private var withHardLinksMerged: [File] {
    Dictionary(grouping: self, by: \.status.id).values
      .map { links in
        let links = links.sorted { $0.path < $1.path }
        var file = links[0]
        file.otherNames = links.dropFirst().map(\.path)
        return file
      }
      .sorted { $0.path < $1.path }
  }
}
