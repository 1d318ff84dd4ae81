import Futures
import Testing

@Suite("Nested calls", .timeLimit(.minutes(5)))
struct NestedCallTests {
  @Test(
    "a call within a call waits for the first to return, or for the thread to be about to block",
    arguments: NestedCall.allCases)
  func order(_ kind: NestedCall) {
    var log: [String] = []
    WorkLoop.current.call(kind) {
      WorkLoop.current.call(kind) { log.append("second") }
      log.append("before")
      WorkLoop.current.flush()
      log.append("after")
      WorkLoop.current.call(kind) { log.append("third") }
      log.append("end")
    }
    #expect(log == ["before", "second", "after", "end", "third"])
  }
}
