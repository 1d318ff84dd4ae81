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
