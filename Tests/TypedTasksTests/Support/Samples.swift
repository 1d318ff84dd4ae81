import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// A task that can only be a value away.
typealias Sample<Output: Sendable> = BlockProducerTask<Output, TestError>

/// A task that succeeds with a value.
func succeeding<Output: Sendable>(_ value: Output) -> Sample<Output> {
  Sample { _, finish in finish(.success(value)) }
}

/// A task that fails with a provided error.
func failing<Output: Sendable>(
  _ type: Output.Type = Int.self, with error: TestError = .first
) -> Sample<Output> { Sample { _, finish in finish(.failure(.provided(error))) } }

/// A task that excludes others of a category, and finishes at once.
func exclusive<Category>(_ category: Category.Type) -> Sample<Int> {
  let task: Sample<Int> = succeeding(1)
  task.addCondition(Conditions.MutuallyExclusive(category))
  return task
}

/// Something that goes wrong inside.
struct InnerError: Error, Equatable {}

/// A task that fails with an internal error.
func broken<Output: Sendable>(_ type: Output.Type = Int.self) -> Sample<Output> {
  Sample { _, finish in finish(.failure(.internal(InnerError()))) }
}

/// A task that finishes when it is told to.
final class Manual<Output: Sendable>: ProducerTask<Output, TestError>, @unchecked Sendable {
  private let event = Event()
  let executions = Counter()

  /// When its work has begun, and goes on elsewhere.
  var started: Start { Start(event: event, task: self) }

  override func execute() {
    executions.add()
    event.signal()
  }
}

/// The moment at which the work of a task has begun and its `execute()` has
/// returned: a cancellation before that finishes the task.
struct Start {
  fileprivate let event: Event
  fileprivate let task: AnyFuture

  /// Suspends until then; `false` if that takes too long.
  @discardableResult
  func opened() async -> Bool {
    guard await event.opened() else { return false }
    return await eventually { hasReturned(task) }
  }

  /// Blocks until then.
  func waitBlocking() {
    event.waitBlocking()
    _ = waitForReturn(of: task)
  }
}

private func waitForReturn(of task: AnyFuture) -> Bool {
  eventuallyBlocking { hasReturned(task) }
}

/// How a result is to be seen.
enum Kind: Sendable, Equatable {
  case success
  case provided
  case conditions
  case cancelled
  case nilOutput
  case execution
  case producing
  case timeout
  case enqueued
  case notEnqueued
  case cycle([String])
  case groupFinished
  case conditionTooLate
  case unfinished
  case otherInternal
}

extension ProducerTask {
  /// What kind of result the task has; `nil` for none.
  var kind: Kind? {
    guard let produced else { return nil }
    switch produced {
    case .success: return .success
    case .failure(.provided): return .provided
    case .failure(.internal(let error)):
      return switch error as? ProducerTaskError {
      case .conditionsFailure: .conditions
      case .cancelled: .cancelled
      case .nilOutput: .nilOutput
      case .executionFailure: .execution
      case .producingFailure: .producing
      case .timedOut: .timeout
      case .alreadyEnqueued: .enqueued
      case .notEnqueued: .notEnqueued
      case .cycle(let path): .cycle(path)
      case .groupFinished: .groupFinished
      case .conditionAddedTooLate: .conditionTooLate
      case .unfinished: .unfinished
      case nil: .otherInternal
      }
    }
  }

  /// Waits for the task, and says what came of it.
  func outcome() async -> Kind? {
    _ = await completion
    return kind
  }

  /// The value, if the task has succeeded.
  var success: Output? { try? produced?.get() }

  /// The provided error, if there is one.
  var provided: Failure? {
    guard case .failure(.provided(let error)) = produced else { return nil }
    return error
  }
}

extension TaskQueue {
  /// Adds several tasks.
  func addAll(_ tasks: [any ProducerTaskProtocol]) {
    for task in tasks { addTask(task) }
  }

  /// Waits until the queue is empty, on a thread that may block.
  func finished() async {
    await withCheckedContinuation { continuation in
      let thread = Thread {
        self.waitUntilAllTasksAreFinished()
        continuation.resume()
      }
      thread.start()
    }
  }
}

/// An observer that notes everything.
struct Recorder: TaskObserver {
  let log: Log<String>
  let name: String

  init(_ log: Log<String>, _ name: String = "") {
    self.log = log
    self.name = name
  }

  func taskDidStart<T: ProducerTaskProtocol>(_ task: T) { log.append(name + "start") }
  func task<T1: ProducerTaskProtocol, T2: ProducerTaskProtocol>(_ task: T1, didProduce newTask: T2)
  { log.append(name + "produce") }
  func taskDidCancel<T: ProducerTaskProtocol>(_ task: T) { log.append(name + "cancel") }
  func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
    log.append(name + (task.isFinished ? "finish" : "unfinished"))
  }
}

/// A condition that answers when it is told to, or never.
final class ManualCondition: TaskCondition {
  let asked = Event()
  private let completion = Box<(@Sendable (Result<Void, TestError>) -> Void)?>(nil)

  func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, TestError>) -> Void
  ) {
    self.completion.value = completion
    asked.signal()
  }

  func answer(_ result: Result<Void, TestError>) { completion.value?(result) }
  func forget() { completion.value = nil }
}

/// A condition that is not met.
struct Unmet: TaskCondition {
  let error: TestError
  func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, TestError>) -> Void
  ) { completion(.failure(error)) }
}

#if os(Linux) || os(macOS)
  /// What a process that has trapped has written.
  func message(of result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }
#endif
