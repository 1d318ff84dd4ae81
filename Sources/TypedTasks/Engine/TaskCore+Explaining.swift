import Foundation
import Futures

// What a task waits for, in sentences. Each read takes one lock at a time.

extension TaskCore {
  /// What a task waits for before it asks its queue for a slot; `nil` if it waits for the
  /// slot or is about to, is in no queue, or has begun.
  @usableFromInline
  final func reasonsToWait(_ task: AnyFuture) -> [FutureExplanation.Reason]? {
    let (phase, home, check, conditions) = state.withLock { state in
      (state.machine.phase, state.home, state.extras?.check, state.extras?.conditions ?? [])
    }
    switch phase {
    case .waiting:
      guard let home, !home.isOpen(for: self) else { return reasonsOfOthers(task) }
      return [
        .init(
          .queue,
          "A barrier of \(home.nameInErrors) holds it back, until everything in front of the "
            + "barrier has finished.")
      ]
    case .checking:
      let unanswered = check?.unanswered.filter { conditions.indices.contains($0) } ?? []
      let names = unanswered.prefix(4).map { String(describing: type(of: conditions[$0].base)) }
      if names.isEmpty { return reasonsOfOthers(task) }
      let more = unanswered.count > names.count ? " and \(unanswered.count - names.count) more" : ""
      return [
        .init(
          .condition,
          unanswered.count == 1
            ? "Its condition \(names[0]) has not answered."
            : "Its conditions \(names.joined(separator: ", "))\(more) have not answered.")
      ]
    case .queueing: return reasonsOfOthers(task)
    case .created, .ready, .executing, .ended: return nil
    }
  }

  /// The operations, other than futures, that the task waits for.
  ///
  /// If it waits for nothing, another thread is about to ask for its slot: `nil`, as if it
  /// had asked.
  private final func reasonsOfOthers(_ task: AnyFuture) -> [FutureExplanation.Reason]? {
    let operations = dependencies.filter { !($0 is AnyFuture) && !$0.isFinished }
    if operations.isEmpty, awaited(by: task)?.isEmpty != false { return nil }
    return operations.prefix(4).map { .operation($0) }
  }
}
