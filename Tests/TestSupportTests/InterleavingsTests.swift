import TestSupport
import Testing

@Suite("Interleavings", .timeLimit(.minutes(5)), .oneAtATime)
struct InterleavingsTests {
  @Test func `the interleavings of two actors are all different, and keep each actor's order`() {
    var found: Set<String> = []
    let count = Interleavings.of([["a", "b"], ["1", "2"]]) { found.insert($0.joined()) }
    #expect(count == 6)
    #expect(found == ["ab12", "a1b2", "a12b", "1ab2", "1a2b", "12ab"])
  }

  @Test func `an actor without events leaves the others' order alone`() {
    var found: [String] = []
    Interleavings.of([[], ["1", "2"]]) { found.append($0.joined()) }
    #expect(found == ["12"])
  }

  @Test func `the sequences of two events and length three are the eight words`() {
    var found: [String] = []
    let count = Interleavings.sequences(of: ["a", "b"], length: 3) { found.append($0.joined()) }
    #expect(count == 8)
    #expect(found == ["aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb"])
  }
}
