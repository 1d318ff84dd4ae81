/// Rows in which intervals do not overlap.
struct TraceLanes {
  /// Free lanes by number, and busy lanes by their ends, as heaps.
  private var busy: [(end: UInt64, lane: Int)] = []
  private var free: [Int] = []
  private var count = 0

  mutating func place(from begin: UInt64, to end: UInt64) -> Int {
    while let first = busy.first, first.end <= begin {
      Heap.removeFirst(&busy) { $0.end < $1.end }
      Heap.insert(first.lane, into: &free) { $0 < $1 }
    }
    let lane: Int
    if let first = free.first {
      Heap.removeFirst(&free) { $0 < $1 }
      lane = first
    } else {
      count += 1
      lane = count
    }
    Heap.insert((end, lane), into: &busy) { $0.end < $1.end }
    return lane
  }
}

private enum Heap {
  static func insert<T>(_ new: T, into heap: inout [T], _ precedes: (T, T) -> Bool) {
    heap.append(new)
    var i = heap.count - 1
    while i > 0, precedes(heap[i], heap[(i - 1) / 2]) {
      heap.swapAt(i, (i - 1) / 2)
      i = (i - 1) / 2
    }
  }

  static func removeFirst<T>(_ heap: inout [T], _ precedes: (T, T) -> Bool) {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var i = 0
    while true {
      var first = i
      for child in [2 * i + 1, 2 * i + 2] where child < heap.count {
        if precedes(heap[child], heap[first]) { first = child }
      }
      if first == i { return }
      heap.swapAt(i, first)
      i = first
    }
  }
}
