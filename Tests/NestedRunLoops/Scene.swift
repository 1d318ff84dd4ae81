import Foundation
import Properations

/// Work that a closure starts before or while it serves a nested run loop, as a modal
/// panel does.
///
/// The scene calls `done` when this work is complete.
enum Scene: String, CaseIterable {
  /// The closure settles a promise that has an inline handler.
  case settledByTheClosure
  /// A timer of the nested run loop settles a promise that has an inline handler.
  case settledByATimer
  /// As `settledByATimer`, with a chain of inline links downstream of the promise.
  case chainOfInlineLinks
  /// As `settledByATimer`, in a handler that runs in an operation of the main queue, as
  /// handlers do without `on:`.
  case inAHandlerOnMain
  /// A timer settles a promise; its handler and a second one downstream run on the main
  /// queue.
  case handlersOnMain
  /// A closure runs on the main queue, and its future has an inline handler.
  case closureOnMain
  /// A timer settles a promise; its handler runs in a context of the program.
  case handlerInOwnContext
  /// As `handlerInOwnContext`, with a context whose `execute` is running the outer
  /// closure.
  case handlerInTheContextOfTheClosure
  /// A task and an operator of it, in a task queue whose tasks run on the main queue.
  case taskInTaskQueue
  /// A task that is added to the main queue as an operation.
  case taskInMainQueue
  /// A group is cancelled while another group is being cancelled.
  case cancelledGroup
  /// A second task runs while the first task of its workflow is the closure.
  case taskOfTheWorkflow
  /// As `taskOfTheWorkflow`, with a second task that becomes ready in the nested run
  /// loop.
  case laterTaskOfTheWorkflow
  /// A workflow inside a workflow starts while another one starts.
  case nestedWorkflow

  /// Starts work inside the closure, and calls `done` when the work is complete.
  typealias Body = @MainActor (_ done: @escaping @Sendable () -> Void) -> Void

  /// Whether the nested run loop must serve the main queue.
  ///
  /// A run loop does not do that inside a block of the main queue.
  var needsMainQueue: Bool {
    switch self {
    case .handlersOnMain, .closureOnMain, .taskInTaskQueue, .taskInMainQueue: true
    default: false
    }
  }

  /// Runs the scene on the main thread, and ends the process.
  @MainActor func play() {
    do {
      try start { body in
        nonisolated(unsafe) var isDone = false
        body { isDone = true }
        // Only a scene that fails takes this long.
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
  /// - Parameter serve: Serves the run loop until `done` is called or the time limit is
  ///   over.
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
    case .inAHandlerOnMain:
      let first = Promise<Int>()
      first.onSuccess { _ in
        serve { done in
          let promise = Promise<Int>()
          promise.onSuccess(on: .inline) { _ in done() }
          soon { promise.succeed(with: 1) }
        }
      }
      first.succeed(with: 1)
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
              if Thread.isMainThread { done() }
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

/// Keeps an object until the end of the program.
@MainActor private func keep(_ object: AnyObject) { kept.append(object) }

/// Starts operations in the main run loop.
private final class RunLoopContext: ExecutionContext {
  func execute(_ operation: Operation) {
    let timer = Timer(timeInterval: 0, repeats: false) { _ in operation.start() }
    RunLoop.main.add(timer, forMode: .common)
  }
}

/// Starts operations on the calling thread.
private final class Immediately: ExecutionContext {
  func execute(_ operation: Operation) { operation.start() }
}

/// A value that one thread uses at a time.
private final class Slot<Value>: @unchecked Sendable {
  // Sendable: the operation that hands the value to another thread also orders the
  // accesses.
  var value: Value?
}

/// Returns a group with an executing member.
///
/// - Parameter whenCancelled: Called when the member is cancelled, on the thread that
///   cancels.
@MainActor private func runningGroup(
  in queue: TaskQueue, whenCancelled: @escaping @Sendable () -> Void
) -> GroupTask<CocoaError> {
  let (started, end) = (DispatchSemaphore(value: 0), Slot<BlockTask<CocoaError>.Finish>())
  let member = BlockTask<CocoaError> { _, finish in
    // Kept, because a task finishes when its `finish` is released.
    end.value = finish
    started.signal()
  }
  let group = GroupTask<CocoaError>(tasks: [member.onCancellationRequest(whenCancelled)])
  queue.addTask(group)
  started.wait()
  keep(end)
  return group
}
