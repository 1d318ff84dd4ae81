/// Makes calls one after the other that would otherwise be made in one another.
///
/// What is nested in what is nested needs no stack then. One belongs to one
/// thread, and is only ever used by that.
package final class Trampoline {
  @exclusivity(unchecked) private var waiting = FIFO<() -> Void>()
  @exclusivity(unchecked) private var isCalling = false

  package init() {}

  /// Makes a call, now or as soon as those have returned that were to be made
  /// before.
  package func call(_ body: @escaping () -> Void) {
    waiting.append(body)
    guard !isCalling else { return }
    isCalling = true
    while let next = waiting.popFirst() { next() }
    isCalling = false
  }
}
