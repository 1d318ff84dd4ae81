import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Removes all files of each group except the first, or replaces them by hard links to
/// it.
///
/// Each file is compared with the first once more. Both stay open until the file is done,
/// so their inode numbers cannot pass to other files. A file whose number, size or time
/// has changed since the search is left alone. If the change is found only after the
/// first step, that step is undone. See `Replacement` for the steps.
final class Deduplicator: Sendable {
  private let queue: OperationQueue
  private let width: Int
  private let scope: CancellationScope
  private let findings: Findings
  private let reader: ContentReader
  /// Called between the steps, for tests only.
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

  /// Handles all groups.
  ///
  /// The findings record the fate of each file, also after cancellation.
  func perform(_ action: Action, isDryRun: Bool, on groups: [DuplicateGroup]) -> Future<Void> {
    findings.begin(Deeds(action: action, isDryRun: isDryRun), among: groups)
    return Promises.traverse(groups, on: queue, maxConcurrent: width) { [self] group in
      if isDryRun {
        let fate = action == .remove ? Fate.removed : .linked
        for file in group.files.dropFirst() { findings.add(fate, of: file, freeing: 0) }
      } else {
        perform(action, on: group)
      }
      return Promises.makeSucceeded(with: ())
    }
    // The scope does not cancel this future: actions that have begun run to their end
    // and are reported.
    .mapToValue(on: .inline) { [scope] _ in
      if scope.isCancelled { throw ProperationsError.cancelled }
    }
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
        // Without the first file there is no replacement for the others.
        if problem.path == first.path { return }
      } catch {
        // The scope was cancelled during the comparison.
        return
      }
    }
  }

  /// - Returns: The number of bytes that were freed.
  private func replace(
    _ file: File, _ content: borrowing OpenFile, by first: File,
    _ contentOfFirst: borrowing OpenFile, _ action: Action
  ) throws -> Int64 {
    if action == .hardLink { try content.assertLinkable(to: contentOfFirst) }
    for name in file.names {
      let replacement = Replacement(of: name, file, by: first, onStep: onStep)
      // A leftover of a killed run is removed, not linked.
      if action == .remove || name.isLeftover {
        try replacement.remove()
      } else {
        try replacement.link()
      }
    }
    return try content.isNameless ? file.status.size : 0
  }
}
