/// Makes nested calls one after the other, so that nesting of any depth needs no
/// stack.
///
/// A trampoline belongs to one thread, and is only used by that thread.
package final class Trampoline {
  @exclusivity(unchecked) private var waiting = FIFO<() -> Void>()
  @exclusivity(unchecked) private var isCalling = false

  package init() {}

  /// Makes a call: now, or when the calls before it have returned.
  package func call(_ body: @escaping () -> Void) {
    waiting.append(body)
    guard !isCalling else { return }
    isCalling = true
    while let next = waiting.popFirst() { next() }
    isCalling = false
  }

  /// Makes the calls that wait, because the thread is about to block in one of them.
  package func flush() {
    guard isCalling else { return }
    while let next = waiting.popFirst() { next() }
  }
}
