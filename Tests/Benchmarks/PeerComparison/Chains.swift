import NIOCore
import OpenCombine
import Properations
import Workloads

/// A promise, n closures in a row, the promise's success, and the release of all objects;
/// see `InlineChain`.
///
/// Not the same: OpenCombine's publishers are nested values that call each other, so a
/// chain needs stack and its length is limited; type erasure is needed to keep such a
/// chain in a variable. In async code, a task awaits the previous task instead.
func chains() {
  for length in [10, 100, 10_000, 1_000_000] {
    let name = "Chain of \(text(length)) inline links"
    measure(name, .ours) { InlineChain.ours(length: length) }
    measure(name, .nio) {
      try Loops.run { InlineChain.nio(length: length, on: Loops.first) }
    }
    if length <= 100 { measure(name, .openCombine) { openCombineChain(length) } }
    if length <= 10_000 {
      measureAsync(name, .task) {
        var task = Task { 0 }
        for _ in 0..<length { task = Task { [task] in await task.value + 1 } }
        let result = await task.value
        expect(result == length)
      }
    }
  }
}

private func openCombineChain(_ length: Int) {
  var settle: ((Result<Int, Never>) -> Void)?
  let root = OpenCombine.Future<Int, Never> { promise in settle = promise }
  var publisher = root.eraseToAnyPublisher()
  for _ in 0..<length { publisher = publisher.map { $0 + 1 }.eraseToAnyPublisher() }
  var result: Int?
  let subscription = publisher.sink { result = $0 }
  settle?(.success(0))
  subscription.cancel()
  expect(result == length)
}
