import Foundation
import Properations

/// What a closure starts before, or while, it serves a nested run loop, as a modal panel
/// does.
///
/// The scene says `done` when what it has started is carried out.
enum Scene: String, CaseIterable {
  /// The closure settles a promise that has an inline handler.
  case settledByTheClosure
  /// A timer of the nested run loop settles a promise that has an inline handler.
  case settledByATimer
  /// The same, and a chain of inline links hangs on the promise.
  case chainOfInlineLinks
  /// A timer settles a promise; its handler, and a second one behind it, want the main
  /// queue.
  case handlersOnMain
  /// A closure on the main queue, and an inline handler of its future.
  case closureOnMain
  /// A timer settles a promise; its handler wants a context of the program's own.
  case handlerInOwnContext
  /// The same, for a context in whose `execute` the outer closure runs.
  case handlerInTheContextOfTheClosure
  /// A task in a task queue whose tasks run on the main queue, and an operator of it.
  case taskInTaskQueue
  /// A task that is added to the main queue as an operation.
  case taskInMainQueue
  /// A group is cancelled while another one is.
  case cancelledGroup
  /// A second task of the workflow whose first one is the closure.
  case taskOfTheWorkflow
  /// The same, and the second task becomes ready in the nested run loop only.
  case laterTaskOfTheWorkflow
  /// A workflow in a workflow starts while another one does.
  case nestedWorkflow

  /// What is started within the closure; it calls `done` when it has been carried out.
  typealias Body = @MainActor (_ done: @escaping @Sendable () -> Void) -> Void

  /// Whether the nested run loop has to serve the main queue.
  ///
  /// One that is run in a block of the main queue does not.
  var needsMainQueue: Bool {
    switch self {
    case .handlersOnMain, .closureOnMain, .taskInTaskQueue, .taskInMainQueue: true
    default: false
    }
  }

  /// Plays the scene on the main thread, and ends the process.
  @MainActor func play() {
    do {
      try start { body in
        nonisolated(unsafe) var isDone = false
        body { isDone = true }
        // (Only a scene that fails takes so long.)
        let end = Date() + 5
        while !isDone, Date() < end { RunLoop.main.run(until: Date() + 0.01) }
        exit(isDone ? EXIT_SUCCESS : EXIT_FAILURE)
      }
    } catch {
      exit(3)
    }
  }

  /// Starts the scene on the main thread.
  ///
  /// - Parameter serve: Serves the run loop until the closure that it is given has been
  ///   called, or for too long.
  @MainActor func start(_ serve: @escaping @MainActor @Sendable (Scene.Body) -> Void) throws {
    switch self {
    case .settledByTheClosure:
      inClosure { _ in
        serve { done in
          let promise = Promise<Int>()
          promise.onSuccess(on: .inline) { _ in done() }
          promise.succeed(with: 1)
        }
      }
    case .settledByATimer:
      inClosure { _ in
        serve { done in
          let promise = Promise<Int>()
          promise.onSuccess(on: .inline) { _ in done() }
          soon { promise.succeed(with: 1) }
        }
      }
    case .chainOfInlineLinks:
      inClosure { _ in
        serve { done in
          let promise = Promise<Int>()
          promise.mapToValue(on: .inline) { $0 + 1 }.mapToFuture(on: .inline) { value in
            Promises.makeSucceeded(with: value)
          }.onSuccess(on: .inline) { _ in done() }
          soon { promise.succeed(with: 1) }
        }
      }
    case .handlersOnMain:
      inClosure { _ in
        serve { done in
          let promise = Promise<Int>()
          promise.mapToValue { $0 + 1 }.onSuccess { _ in done() }
          soon { promise.succeed(with: 1) }
        }
      }
    case .closureOnMain:
      inClosure { _ in
        serve { done in Promises.run { 1 }.onSuccess(on: .inline) { _ in done() } }
      }
    case .handlerInOwnContext:
      inClosure { _ in
        serve { done in
          let promise = Promise<Int>()
          promise.mapToValue(on: RunLoopContext()) { $0 }.onSuccess(on: .inline) { _ in done() }
          soon { promise.succeed(with: 1) }
        }
      }
    case .handlerInTheContextOfTheClosure:
      let context = Immediately()
      let first = Promise<Int>()
      first.onSuccess(on: context) { _ in
        MainActor.assumeIsolated {
          serve { done in
            let promise = Promise<Int>()
            promise.onSuccess(on: context) { _ in done() }
            soon { promise.succeed(with: 1) }
          }
        }
      }
      first.succeed(with: 1)
    case .taskInTaskQueue:
      inClosure { _ in
        serve { done in
          let queue = TaskQueue(underlyingQueue: .main)
          let task = BlockProducerTask<Int, CocoaError> { _, finish in finish(.success(1)) }
          queue.addTask(task.map { $0 + 1 }.receive { _ in done() })
        }
      }
    case .taskInMainQueue:
      inClosure { _ in
        serve { done in
          OperationQueue.main.addOperation(
            BlockProducerTask<Int, CocoaError> { _, finish in
              done()
              finish(.success(1))
            })
        }
      }
    case .cancelledGroup:
      let queue = TaskQueue()
      let isDone = Slot<@Sendable () -> Void>()
      let other = runningGroup(in: queue) { isDone.value?() }
      let outer = runningGroup(in: queue) {
        MainActor.assumeIsolated {
          serve { done in
            isDone.value = done
            soon { other.cancel() }
          }
        }
      }
      outer.cancel()
    case .taskOfTheWorkflow:
      let workflow = Workflow(name: "on the main thread", context: RunLoopContext())
      let isDone = Slot<@Sendable () -> Void>()
      try workflow.add(
        BlockWorkflowTask<Int>(name: "serving") { task in
          MainActor.assumeIsolated { serve { done in isDone.value = done } }
          task.finish(with: 1)
        })
      try workflow.add(
        BlockWorkflowTask<Int>(name: "other") { task in
          isDone.value?()
          task.finish(with: 2)
        })
      workflow.start()
      keep(workflow)
    case .laterTaskOfTheWorkflow:
      let workflow = Workflow(name: "on the main thread", context: RunLoopContext())
      let (isDone, gate) = (Slot<@Sendable () -> Void>(), ExternalConditionTask<Int>())
      try workflow.add(gate)
      try workflow.add(
        BlockWorkflowTask<Int>(name: "serving") { task in
          MainActor.assumeIsolated {
            serve { done in
              isDone.value = done
              soon { _ = gate.fulfill(with: 1) }
            }
          }
          task.finish(with: 1)
        })
      let other = BlockWorkflowTask<Int>(name: "other") { task in
        isDone.value?()
        task.finish(with: 2)
      }
      try workflow.add(other, prerequisites: gate)
      workflow.start()
      keep(workflow)
    case .nestedWorkflow:
      try nest { serve { done in soon { MainActor.assumeIsolated { try? nest { done() } } } } }
    }
  }
}

/// Calls a closure in the handler of a settled promise, on the calling thread.
private func inClosure(_ body: @escaping @MainActor @Sendable (Int) -> Void) {
  let promise = Promise<Int>()
  promise.onSuccess(on: .inline) { value in MainActor.assumeIsolated { body(value) } }
  promise.succeed(with: 1)
}

/// Calls a closure from the nested run loop.
private func soon(_ body: @escaping @Sendable () -> Void) {
  let timer = Timer(timeInterval: 0.01, repeats: false) { _ in body() }
  RunLoop.main.add(timer, forMode: .common)
}

/// Runs a workflow inside a workflow, whose task calls a closure.
@MainActor private func nest(_ body: @escaping @MainActor @Sendable () -> Void) throws {
  let (outer, inner) = (
    Workflow(name: "outer", context: .inline), Workflow(name: "inner", context: .inline)
  )
  try inner.add(
    BlockWorkflowTask<Int>(name: "innermost") { task in
      MainActor.assumeIsolated { body() }
      task.finish(with: 1)
    })
  try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
  outer.start()
  keep(outer)
}

@MainActor private var kept: [AnyObject] = []

/// Keeps an object to the end of the program.
@MainActor private func keep(_ object: AnyObject) { kept.append(object) }

/// Starts operations in the main run loop.
private final class RunLoopContext: ExecutionContext {
  func execute(_ operation: Operation) {
    let timer = Timer(timeInterval: 0, repeats: false) { _ in operation.start() }
    RunLoop.main.add(timer, forMode: .common)
  }
}

/// Starts operations where it is asked to.
private final class Immediately: ExecutionContext {
  func execute(_ operation: Operation) { operation.start() }
}

/// A value that one thread uses at a time.
private final class Slot<Value>: @unchecked Sendable {
  // Sendable: what hands it to another thread keeps the order.
  var value: Value?
}

/// A group whose member executes.
///
/// - Parameter whenCancelled: Called when the member is cancelled, on the thread that cancels.
@MainActor private func runningGroup(
  in queue: TaskQueue, whenCancelled: @escaping @Sendable () -> Void
) -> GroupTask<CocoaError> {
  let (started, end) = (DispatchSemaphore(value: 0), Slot<BlockTask<CocoaError>.Finish>())
  let member = BlockTask<CocoaError> { _, finish in
    // (A task whose `finish` is dropped ends.)
    end.value = finish
    started.signal()
  }
  let group = GroupTask<CocoaError>(tasks: [member.onCancellationRequest(whenCancelled)])
  queue.addTask(group)
  started.wait()
  keep(end)
  return group
}
