import Foundation
import Properations

/// Workflows, and the same graphs built by hand from Swift tasks.
package enum Graphs {
  /// Makes a workflow of empty tasks without prerequisites.
  package static func wide(_ count: Int) -> Workflow {
    let workflow = Workflow()
    for _ in 0..<count { try! workflow.add(BlockWorkflowTask<Void> { $0.finish() }) }
    return workflow
  }

  /// Makes a workflow of empty tasks, each with the previous one as its prerequisite.
  package static func chain(_ count: Int) -> Workflow {
    let workflow = Workflow()
    var last = try! workflow.add(BlockWorkflowTask<Void> { $0.finish() })
    for _ in 1..<count {
      last = try! workflow.add(BlockWorkflowTask<Void> { $0.finish() }, prerequisites: last)
    }
    return workflow
  }

  /// Makes a workflow of layers whose tasks wait for all tasks of the previous layer.
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

  /// Runs the same number of empty child tasks in a discarding group.
  @inline(never)
  package static func discardingGroup(_ count: Int) {
    blocking {
      await withDiscardingTaskGroup { group in
        for _ in 0..<count { group.addTask {} }
      }
    }
  }

  /// Makes and awaits the same number of Swift tasks, one after the other.
  @inline(never)
  package static func awaitedTasks(_ count: Int) {
    blocking {
      for _ in 0..<count { await Task {}.value }
    }
  }

  /// Runs the same number of operations, each with a dependency on the previous one.
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
