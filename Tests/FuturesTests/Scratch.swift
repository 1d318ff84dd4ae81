import Foundation
import Futures
import TestSupport
import Testing

@Suite("Scratch", .timeLimit(.minutes(1)), .serialized)
struct Scratch {
  @Test(arguments: [1, 2, 3, 4, 5]) func v(_ kind: Int) async {
    let queue = OperationQueue()
    for _ in 0..<1_000 {
      let gate = BlockOperation {}
      switch kind {
      case 1:
        let dependent = Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }
        dependent.addDependency(gate)
        dependent.cancel()
      case 2:
        let dependent = Promises.make(promising: Int.self)
        dependent.addDependency(gate)
        queue.addOperation(dependent)
        dependent.cancel()
      case 3:
        let dependent = Promises.make(promising: Int.self)
        queue.addOperation(dependent)
        dependent.cancel()
      case 4:
        let dependent = BlockOperation {}
        dependent.addDependency(gate)
        queue.addOperation(dependent)
        dependent.cancel()
      default:
        let dependent = Promises.make(promising: Int.self)
        dependent.addDependency(gate)
        queue.addOperation(dependent)
        dependent.succeed(with: 1)
      }
      queue.addOperation(gate)
    }
    let ok = await eventually(within: .seconds(8)) { queue.operationCount == 0 }
    print("KIND", kind, ok, queue.operationCount, queue.operations.prefix(3).map { ($0.debugDescription, $0.isReady, $0.isExecuting, $0.isFinished, $0.dependencies.count) })
  }
}
