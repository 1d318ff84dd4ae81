import Futures

/// The one lock of all workflows that run inside one another.
///
/// Every workflow starts with a tree of its own. When a task of one workflow runs
/// another, their trees join: one tree refers to the other from then on, and the lock of
/// the other counts for both.
///
///     tree ── joins ──▶ tree ── joins ──▶ tree whose lock counts
///
/// A tree joins the one with the lower number, so no cycle can arise when several threads
/// join trees. The numbers are scattered: whatever the order of nesting, the expected
/// length of the path to the lock is logarithmic in the number of trees. Trees never
/// part: a workflow that was released from its outer one continues with the same lock.
final class WorkflowTree: Sendable {
  private let lock = Lock(())
  /// The tree that this one has joined.
  ///
  /// Set once, with the lock held.
  private let joined = OnceReference<WorkflowTree>()
  private let number = WorkflowTree.nextNumber()

  /// Calls a closure with the lock of the tree held.
  @inline(__always)
  func withLock<Value>(_ body: () throws -> Value) rethrows -> Value {
    var tree = self
    while true {
      while let other = tree.joined.load() { tree = other }
      let value: Value? = try tree.lock.withLock { _ in
        // The tree may have joined another one while this thread waited for the lock.
        tree.joined.isSet ? nil : try body()
      }
      if let value { return value }
    }
  }

  /// Joins two trees.
  ///
  /// Does nothing if they are one already.
  static func join(_ first: WorkflowTree, _ second: WorkflowTree) {
    while true {
      let (first, second) = (first.root, second.root)
      if first === second { return }
      let (lower, upper) = first.number < second.number ? (first, second) : (second, first)
      upper.lock.withLock { _ in
        if !upper.joined.isSet { _ = upper.joined.storeIfNil(lower) }
      }
    }
  }

  private var root: WorkflowTree {
    var tree = self
    while let other = tree.joined.load() { tree = other }
    return tree
  }

  private static let count = Atomic<UInt64>(0)

  /// Returns a unique number.
  ///
  /// Successive numbers are far apart.
  private static func nextNumber() -> UInt64 {
    // The odd constants and the shifts, those of SplitMix64, map numbers one to one.
    var number = count.wrappingAdd(1, ordering: .relaxed).oldValue
    number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
    number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
    return number ^ (number >> 31)
  }
}
