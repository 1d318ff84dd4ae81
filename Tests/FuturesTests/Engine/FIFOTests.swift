import TestSupport
import Testing

@testable import Futures

/// The queue that keeps its buffer.
@Suite("The queue of the work loop", .timeLimit(.minutes(5)), .oneAtATime)
struct FIFOTests {
  @Test func `an empty one gives nothing, also after it has been used`() {
    var queue = FIFO<Int>()
    #expect(queue.isEmpty)
    #expect(queue.popFirst() == nil)
    for element in 0..<3 { queue.append(element) }
    for element in 0..<3 { #expect(queue.popFirst() == element) }
    #expect(queue.isEmpty)
    #expect(queue.popFirst() == nil)
  }

  @Test func `every sequence of 14 appends and pops gives what an array gives`() {
    for bits in 0..<(1 << 14) {
      var (queue, model, next) = (FIFO<Int>(), [Int](), 0)
      var isRight = true
      for place in 0..<14 {
        if bits & 1 << place != 0 {
          queue.append(next)
          model.append(next)
          next += 1
        } else {
          isRight = isRight && queue.popFirst() == (model.isEmpty ? nil : model.removeFirst())
        }
        isRight = isRight && queue.isEmpty == model.isEmpty
      }
      if !isRight { Issue.record("\(String(bits, radix: 2))") }
    }
  }

  @Test func `thousands that come and go in waves keep their order`() {
    var generator = SeededGenerator(seed: 11)
    var (queue, pushed, popped) = (FIFO<Int>(), 0, 0)
    for _ in 0..<200 {
      for _ in 0..<Int.random(in: 0..<300, using: &generator) {
        queue.append(pushed)
        pushed += 1
      }
      for _ in 0..<Int.random(in: 0..<280, using: &generator) {
        guard let element = queue.popFirst() else { break }
        #expect(element == popped)
        popped += 1
      }
    }
    while let element = queue.popFirst() {
      #expect(element == popped)
      popped += 1
    }
    #expect(popped == pushed)
    #expect(pushed > 10_000)
  }

  @Test func `what has been taken out is released at once`() {
    let tracker = LifetimeTracker()
    var queue = FIFO<Tracked>()
    for _ in 0..<3 { queue.append(tracker.make()) }
    for count in [2, 1, 0] {
      _ = queue.popFirst()
      #expect(tracker.alive == count)
    }
  }
}
