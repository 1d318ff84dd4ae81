/// How many do something at the same time, and how many did at most.
package final class Overlap: Sendable {
  private let calls = Counter()

  package init() {}

  package var most: Int { calls.highest }

  package func enter() { calls.add() }

  package func leave() { calls.add(-1) }
}
