/// A queue of values that reuses its buffer, and stores a single value without one.
package struct FIFO<Element> {
  private var single: Element?
  private var others: ContiguousArray<Element?> = []
  private var head = 0

  package init() {}

  @inline(__always)
  package var isEmpty: Bool { single == nil && others.isEmpty }

  /// The values in their order.
  package var elements: [Element] {
    (single.map { [$0] } ?? []) + others[head...].compactMap { $0 }
  }

  package var count: Int { (single == nil ? 0 : 1) + others.count - head }

  @inline(__always)
  package mutating func append(_ element: consuming Element) {
    if isEmpty {
      single = consume element
    } else {
      others.append(element)
    }
  }

  @inline(__always)
  package mutating func popFirst() -> Element? {
    if single != nil { return single.take() }
    return others.isEmpty ? nil : popOther()
  }

  private mutating func popOther() -> Element? {
    let element = others[head].take()
    head += 1
    if head == others.count {
      others.removeAll(keepingCapacity: others.capacity <= 1024)
      head = 0
    } else if head >= 1024, head * 2 >= others.count {
      others.removeFirst(head)
      head = 0
    }
    return element
  }
}
