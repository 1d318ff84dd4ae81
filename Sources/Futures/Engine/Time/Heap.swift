/// Arrays in which no element comes after the two that follow it at twice its place.
///
/// So the first element is in front.
///
/// - Complexity: O(log n) for each call.
enum Heap {
  static func insert<Element>(
    _ new: Element, into heap: inout [Element], _ precedes: (Element, Element) -> Bool
  ) {
    heap.append(new)
    var place = heap.count - 1
    while place > 0, precedes(heap[place], heap[(place - 1) / 2]) {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  static func removeFirst<Element>(
    _ heap: inout [Element], _ precedes: (Element, Element) -> Bool
  ) {
    let last = heap.removeLast()
    if heap.isEmpty { return }
    heap[0] = last
    moveBack(from: 0, in: &heap, precedes)
  }

  /// Moves an element behind those that precede it.
  static func moveBack<Element>(
    from place: Int, in heap: inout [Element], _ precedes: (Element, Element) -> Bool
  ) {
    var place = place
    while true {
      var first = place
      for next in [2 * place + 1, 2 * place + 2]
      where next < heap.count && precedes(heap[next], heap[first]) { first = next }
      if first == place { return }
      heap.swapAt(place, first)
      place = first
    }
  }
}
