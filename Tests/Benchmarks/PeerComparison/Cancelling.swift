import Properations
import Workloads

/// A tree of a hundred thousand futures that is cancelled at its root.
///
/// The same: a hundred thousand leaves in groups of a thousand, and all leaves are
/// cancelled. Not the same: tasks are notified and end later, so they are awaited;
/// futures have settled when `cancel()` returns. NIO's futures cannot be cancelled.
func cancelling() {
  let name = "Cancel a tree of 100_000"
  measure(
    name, .ours,
    setUp: {
      let root = Promise<Int>()
      let leaves = (0..<100).flatMap { _ in
        let branch = root.mapToValue(on: .inline) { $0 + 1 }
        return (0..<1000).map { _ in branch.mapToValue(on: .inline) { $0 + 1 } }
      }
      return (root, leaves)
    }
  ) { root, leaves in
    root.cancel()
    expect(leaves.allSatisfy(\.isCancelled))
  }
  measureAsync(name, .task) {
    let root = Task {
      await withDiscardingTaskGroup { root in
        for _ in 0..<100 {
          root.addTask {
            await withDiscardingTaskGroup { branch in
              for _ in 0..<1000 {
                branch.addTask { try? await Task.sleep(for: .seconds(60)) }
              }
            }
          }
        }
      }
    }
    root.cancel()
    await root.value
  }
}
