import ExampleSupport
import Foundation
import Properations

/// The whole search, as one future.
///
///   scan the folders ─▶ group the files by size ─▶ for each size:
///     split by the beginning ─▶ compare the rest byte by byte
///
/// Digests only save work: what is reported has been compared byte by byte.
final class DuplicateSearch: Sendable {
  let findings = Findings()
  private let options: Options
  private let scope: CancellationScope
  /// How much is done at a time.
  let width: Int
  private let queue = OperationQueue()

  init(_ options: Options, scope: CancellationScope) {
    self.options = options
    self.scope = scope
    // A comparison has two files open, everything else one file or folder. The
    // queue sees to the limit for all together; the `maxConcurrent` of each
    // step keeps what has no place yet out of memory. More threads than processors
    // would only stand in each other's way.
    width = min(options.openFiles / 2, max(2, ProcessInfo.processInfo.activeProcessorCount))
    queue.name = "DuplicateFinder"
    queue.maxConcurrentOperationCount = width
  }

  /// Starts the search; what it finds is in `findings`, also when cancelled.
  func start() -> Future<Void> {
    let scanner = FolderScanner(
      options, on: queue, width: width, until: scope, findings: findings)
    let comparer = ContentComparer(on: queue, width: width, until: scope, findings: findings)
    return scanner.scan(options.paths)
      .mapToValue(on: queue) { [options] in $0.candidates(for: options) }
      .onSuccess(on: .inline) { [findings] in findings.add(candidates: $0.count) }
      .mapElementsToFuture(on: .inline, maxConcurrent: width) { [findings] candidates in
        comparer.duplicates(among: candidates.files)
          .onSuccess(on: .inline) { findings.add($0, among: candidates.sets) }
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

  /// Removes or links what was found.
  func perform(
    _ action: Action, onStep: @escaping @Sendable (Replacement.Step) -> Void = { _ in }
  ) -> Future<Void> {
    Deduplicator(on: queue, width: width, until: scope, findings: findings, onStep: onStep)
      .perform(action, isDryRun: options.isDryRun, on: findings.soFar.groups)
  }
}

/// Files to compare: those of the same size with each other.
struct Candidates: Sendable {
  /// Sets of files of the same size, one after the other.
  var files: [File] = []
  /// How many sets that are.
  var sets = 0
}

extension [File] {
  /// Sets of files of the same size, the largest first; small sets together, so that
  /// there are not more portions than it pays to do side by side.
  func candidates(for options: Options) -> [Candidates] {
    var portions: [Candidates] = []
    var portion = Candidates()
    var bytes: Int64 = 0
    for files in setsOfSameSize {
      let size = files[0].status.size
      let isEmpty = size == 0
      if isEmpty ? !options.wantsEmptyFiles : size < options.minSize ?? 0 { continue }
      // (What takes long must not keep back what does not.)
      let more = size > ContentComparer.beginning ? .max : size * Int64(files.count)
      if portion.sets > 0,
        isEmpty || bytes > ContentComparer.little || more > ContentComparer.little - bytes
      {
        portions.append(portion)
        (portion, bytes) = (Candidates(), 0)
      }
      portion.files += files
      portion.sets += 1
      bytes = more == .max ? .max : bytes + more
    }
    return portion.sets > 0 ? portions + [portion] : portions
  }

  private var setsOfSameSize: [[File]] {
    // Numbers are sorted and not files: there may be a million.
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

  /// Hard links as one file.
  private static func merged(_ links: [File]) -> File {
    guard links.count > 1 else { return links[0] }
    let links = links.sorted { $0.path.comesBefore($1.path) }
    return File(
      path: links[0].path, status: links[0].status, otherNames: links.dropFirst().map(\.path))
  }
}

extension RandomAccessCollection where Index == Int {
  /// Runs of elements in which each belongs together with the next.
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
