import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Removes the files of groups, or replaces them by hard links, but for the first.
///
/// A file is compared with the first once more, and both are kept open until it is
/// done: so a number of a file stands for the same file all the time. What has another
/// number, size or time than the search has found is left alone, also if that shows
/// only after the first step; that is then taken back. See `Replacement` for the steps.
final class Deduplicator: Sendable {
  private let queue: OperationQueue
  private let width: Int
  private let scope: CancellationScope
  private let findings: Findings
  private let reader: ContentReader
  /// Called between the steps; for tests.
  private let onStep: @Sendable (Replacement.Step) -> Void

  init(
    on queue: OperationQueue, width: Int, until scope: CancellationScope, findings: Findings,
    onStep: @escaping @Sendable (Replacement.Step) -> Void = { _ in }
  ) {
    self.queue = queue
    self.width = width
    self.scope = scope
    self.findings = findings
    self.onStep = onStep
    reader = ContentReader(until: scope, findings: findings)
  }

  /// Deals with all groups; what has become of the files is in the findings, also when
  /// cancelled.
  func perform(_ action: Action, isDryRun: Bool, on groups: [DuplicateGroup]) -> Future<Void> {
    findings.begin(Deeds(action: action, isDryRun: isDryRun), among: groups)
    return Promises.makeSucceeded(with: groups)
      .mapElementsToFuture(on: queue, maxConcurrent: width) { [self] group in
        if isDryRun {
          let fate = action == .remove ? Fate.removed : .linked
          for file in group.files.dropFirst() { findings.add(fate, of: file, freeing: 0) }
        } else {
          perform(action, on: group)
        }
        return Promises.makeSucceeded(with: ())
      }
      // Not cancelled by the scope: what has begun is waited for, and then told.
      .ensure(on: .inline) { [scope] _ in
        if scope.isCancelled { throw ProperationsError.cancelled }
        return true
      }
      .mapToVoid()
  }

  private func perform(_ action: Action, on group: DuplicateGroup) {
    if scope.isCancelled { return }
    let first = group.files[0]
    for name in first.otherNames where name.isLeftover {
      do throws(Problem) {
        try Replacement(of: name, first, by: first, onStep: onStep).remove()
      } catch {
        findings.add(error)
      }
    }
    for file in group.files.dropFirst() {
      if scope.isCancelled { return }
      do {
        let freed = try reader.withEqualContents(first, file) { contentOfFirst, content in
          try replace(file, content, by: first, contentOfFirst, action)
        }
        guard let freed else { throw Problem(changed: file.path) }
        findings.add(action == .remove ? .removed : .linked, of: file, freeing: freed)
      } catch let problem as Problem {
        findings.add(problem)
        // Without the first there is nothing that the others could be replaced by.
        if problem.path == first.path { return }
      } catch {
        // The scope was cancelled while the two were compared.
        return
      }
    }
  }

  /// - Returns: How many bytes are free now.
  private func replace(
    _ file: File, _ content: borrowing OpenFile, by first: File,
    _ contentOfFirst: borrowing OpenFile, _ action: Action
  ) throws -> Int64 {
    if action == .hardLink { try content.assertLinkable(to: contentOfFirst) }
    for name in file.names {
      let replacement = Replacement(of: name, file, by: first, onStep: onStep)
      // (What a run that was killed has left is of no use as a link.)
      if action == .remove || name.isLeftover {
        try replacement.remove()
      } else {
        try replacement.link()
      }
    }
    return try content.isNameless ? file.status.size : 0
  }
}
