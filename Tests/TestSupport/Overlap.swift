/// How many do something at the same time, and how many did at most.
package final class Overlap: Sendable {
  private let mutex = TestLock((now: 0, most: 0))

  package init() {}

  package var most: Int { mutex.withLock { $0.most } }

  package func enter() {
    mutex.withLock { state in
      state.now += 1
      state.most = max(state.most, state.now)
    }
  }

  package func leave() { mutex.withLock { $0.now -= 1 } }
}
