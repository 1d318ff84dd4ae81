/// Makes nested calls one after the other, so that nesting of any depth needs no
/// stack.
///
/// A trampoline belongs to one thread, and is only used by that thread.
package final class Trampoline {
  @exclusivity(unchecked) private var waiting = FIFO<() -> Void>()
  @exclusivity(unchecked) private var isCalling = false

  package init() {}

  /// Makes a call: now, or when the calls before it have returned.
  ///
  /// `false` if it waits.
  package func call(_ body: @escaping () -> Void) -> Bool {
    waiting.append(body)
    guard !isCalling else { return false }
    isCalling = true
    while let next = waiting.popFirst() { next() }
    isCalling = false
    return true
  }

  /// Makes the calls that wait, because the thread is about to block in one of them, or
  /// serves a nested run loop there.
  package func flush() {
    guard isCalling else { return }
    while let next = waiting.popFirst() { next() }
  }
}
