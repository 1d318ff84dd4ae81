import Foundation

/// Operations in the order in which they came, of which any can be taken by its position.
///
/// A slot whose operation was taken stays empty until half of the slots are empty. A Fenwick
/// tree counts the operations in the slots, and so finds a position.
///
/// - Complexity: O(log n) for each call, amortized.
struct OperationLine {
  private var slots: [Operation?] = []
  /// The tree: the node of slot i counts the operations in the last `span(i)` slots, up to
  /// and including slot i.
  private var counts: [Int] = []
  private(set) var count = 0

  /// The operations, in order.
  var all: [Operation] { slots.compactMap { $0 } }

  mutating func append(_ operation: Operation) {
    let last = slots.count
    slots.append(operation)
    count += 1
    // The node counts its own slot, and what the nodes below it count.
    var (sum, node) = (1, last - 1)
    while node > last - Self.span(last) {
      sum += counts[node]
      node -= Self.span(node)
    }
    counts.append(sum)
  }

  /// Takes an operation out; `nil` if there are fewer.
  mutating func take(at position: Int) -> Operation? {
    guard position >= 0, position < count else { return nil }
    let slot = slot(at: position)
    var node = slot
    while node < counts.count {
      counts[node] -= 1
      node += Self.span(node)
    }
    count -= 1
    let operation = slots[slot].take()
    if count == 0 || slots.count > 64 && slots.count > count * 2 { compact() }
    return operation
  }

  private func slot(at position: Int) -> Int {
    // The number of slots before the wanted one, found bit by bit.
    var (before, rest) = (0, position)
    var step = 1 << (Int.bitWidth - 1 - counts.count.leadingZeroBitCount)
    while step > 0 {
      if before + step <= counts.count, counts[before + step - 1] <= rest {
        before += step
        rest -= counts[before - 1]
      }
      step >>= 1
    }
    return before
  }

  private mutating func compact() {
    let rest = all
    self = OperationLine()
    for operation in rest { append(operation) }
  }

  /// The number of slots that a node counts.
  private static func span(_ node: Int) -> Int { (node + 1) & -(node + 1) }
}
