/// The kinds of calls that nested groups and workflows make one after the other.
package enum NestedCall: Int, CaseIterable {
  /// Cancels a group: when the outermost call returns, all groups have been asked to cancel.
  case cancellation
  /// Begins or ends a nested workflow.
  case workflow
  /// Lets a group give back what it holds.
  case end
}

/// Makes nested calls one after the other, so that nesting of any depth needs no stack.
///
/// Each trampoline belongs to one thread, and only that thread uses it.
package final class Trampoline {
  @exclusivity(unchecked) private var waiting = FIFO<() -> Void>()
  @exclusivity(unchecked) private var isCalling = false

  package init() {}

  /// Makes a call now, or after the earlier calls have returned.
  ///
  /// Returns `false` if the call has to wait.
  package func call(_ body: @escaping () -> Void) -> Bool {
    waiting.append(body)
    guard !isCalling else { return false }
    isCalling = true
    while let next = waiting.popFirst() { next() }
    isCalling = false
    return true
  }

  /// Makes the waiting calls, because the thread is about to block in one of them, or
  /// serves a nested run loop there.
  package func flush() {
    guard isCalling else { return }
    while let next = waiting.popFirst() { next() }
  }
}
