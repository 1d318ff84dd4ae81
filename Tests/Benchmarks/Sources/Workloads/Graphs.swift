import Foundation
import Properations

/// Workflows, and the same graphs made by hand of Swift tasks.
package enum Graphs {
  /// A workflow of tasks that do nothing and wait for nothing.
  package static func wide(_ count: Int) -> Workflow {
    let workflow = Workflow()
    for _ in 0..<count { try! workflow.add(BlockWorkflowTask<Void> { $0.finish() }) }
    return workflow
  }

  /// A workflow of tasks that do nothing, each of which waits for the one
  /// before.
  package static func chain(_ count: Int) -> Workflow {
    let workflow = Workflow()
    var last = try! workflow.add(BlockWorkflowTask<Void> { $0.finish() })
    for _ in 1..<count {
      last = try! workflow.add(BlockWorkflowTask<Void> { $0.finish() }, prerequisites: last)
    }
    return workflow
  }

  /// A workflow of layers each task of which waits for all of the layer before.
  package static func layers(_ count: Int, of width: Int) -> Workflow {
    let workflow = Workflow()
    var before: [AnyWorkflowTask] = []
    for _ in 0..<count {
      var layer: [AnyWorkflowTask] = []
      for _ in 0..<width {
        layer.append(
          try! workflow.add(BlockWorkflowTask<Void> { $0.finish() }, prerequisites: before))
      }
      before = layer
    }
    return workflow
  }

  /// Runs a workflow to its end.
  @inline(never)
  package static func run(_ workflow: Workflow) {
    let done = DispatchSemaphore(value: 0)
    workflow.start().onCompletion(on: .inline) { result in
      expect(result.isSuccess)
      done.signal()
    }
    done.wait()
    expect(!workflow.hasUnfinishedTasks)
  }

  /// As many empty child tasks in a discarding group.
  @inline(never)
  package static func discardingGroup(_ count: Int) {
    blocking {
      await withDiscardingTaskGroup { group in
        for _ in 0..<count { group.addTask {} }
      }
    }
  }

  /// As many Swift tasks made and awaited, one after the other.
  @inline(never)
  package static func awaitedTasks(_ count: Int) {
    blocking {
      for _ in 0..<count { await Task {}.value }
    }
  }

  /// As many operations, each of which depends on the one before.
  @inline(never)
  package static func dependentOperations(_ count: Int) {
    let queue = OperationQueue()
    var last: Operation?
    for _ in 0..<count {
      let operation = BlockOperation {}
      if let last { operation.addDependency(last) }
      queue.addOperation(operation)
      last = operation
    }
    queue.waitUntilAllOperationsAreFinished()
  }

  private static func blocking(_ body: @escaping @Sendable () async -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      await body()
      done.signal()
    }
    done.wait()
  }
}
