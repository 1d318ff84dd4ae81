import ExampleSupport
import Foundation
import Properations

/// The whole search as one future.
///
///   scan the folders ─▶ group the files by size ─▶ for each size:
///     split by the beginning ─▶ compare the rest byte by byte
///
/// Digests only save work: all files of a reported group have been compared byte by byte.
final class DuplicateSearch: Sendable {
  let findings = Findings()
  private let options: Options
  private let scope: CancellationScope
  /// The maximum number of operations at a time.
  let width: Int
  private let queue = OperationQueue()

  init(_ options: Options, scope: CancellationScope) {
    self.options = options
    self.scope = scope
    // A comparison has two files open; every other operation has one file or folder open.
    // The queue limits all operations together. The `maxConcurrent` of each step limits
    // the operations that wait for a slot, and so the memory they use. More threads than
    // processors would only slow each other down.
    width = min(options.openFiles / 2, max(2, ProcessInfo.processInfo.activeProcessorCount))
    queue.name = "DuplicateFinder"
    queue.maxConcurrentOperationCount = width
  }

  /// Starts the search; its results are in `findings`, also after cancellation.
  func start() -> Future<Void> {
    let scanner = FolderScanner(
      options, on: queue, width: width, until: scope, findings: findings)
    let comparer = ContentComparer(on: queue, width: width, until: scope, findings: findings)
    return scanner.scan(options.paths)
      .mapToValue(on: queue) { [options] in $0.candidates(for: options) }
      .onSuccess(on: .inline) { [findings] in findings.add(candidates: $0.count) }
      .mapElementsToFuture(on: .inline, maxConcurrent: width) { [findings] files in
        comparer.duplicates(among: files).onSuccess(on: .inline) { findings.add($0) }
      }
      // If the scope is cancelled before the search begins, the search ends as cancelled,
      // even if it has nothing to do.
      .mapToValue(on: .inline) { [scope] _ in
        if scope.isCancelled { throw ProperationsError.cancelled }
      }
      .cancelled(by: scope)
  }

  /// Removes or links the duplicates that the search has found.
  func perform(
    _ action: Action, onStep: @escaping @Sendable (Replacement.Step) -> Void = { _ in }
  ) -> Future<Void> {
    Deduplicator(on: queue, width: width, until: scope, findings: findings, onStep: onStep)
      .perform(action, isDryRun: options.isDryRun, on: findings.soFar.groups)
  }
}

extension [File] {
  /// Returns the sets of files of the same size that are compared, the largest size first.
  func candidates(for options: Options) -> [[File]] {
    setsOfSameSize.filter { files in
      let size = files[0].status.size
      return size == 0 ? options.wantsEmptyFiles : size >= options.minSize ?? 0
    }
  }

  private var setsOfSameSize: [[File]] {
    // Sorts numbers instead of files: there may be a million files.
    var order: [(size: Int64, id: FileStatus.ID, index: Int)] = []
    order.reserveCapacity(count)
    for (index, file) in enumerated() {
      order.append((file.status.size, file.status.id, index))
    }
    order.sort { a, b in a.size == b.size ? a.id < b.id : a.size > b.size }
    var sets: [[File]] = []
    for sameSize in order.chunked(where: { $0.size == $1.size }) where sameSize.count > 1 {
      let files = sameSize.chunked { $0.id == $1.id }
        .map { links in Self.merged(links.map { self[$0.index] }) }
      if files.count > 1 { sets.append(files) }
    }
    return sets
  }

  /// Merges hard links to one file.
  private static func merged(_ links: [File]) -> File {
    guard links.count > 1 else { return links[0] }
    let links = links.sorted { $0.path.comesBefore($1.path) }
    return File(
      path: links[0].path, status: links[0].status, otherNames: links.dropFirst().map(\.path))
  }
}

extension RandomAccessCollection where Index == Int {
  /// Splits the collection where two neighbours do not belong together.
  fileprivate func chunked(
    where belongTogether: (Element, Element) -> Bool
  ) -> [SubSequence] {
    var chunks: [SubSequence] = []
    var start = startIndex
    for index in indices
    where index + 1 == endIndex || !belongTogether(self[index], self[index + 1]) {
      chunks.append(self[start...index])
      start = index + 1
    }
    return chunks
  }
}
