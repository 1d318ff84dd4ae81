import Foundation
import Futures

/// A graph of tasks, each of which runs when its prerequisites have finished.
///
/// Make a workflow, add each task after its prerequisites, and run the workflow. The
/// closure of a task receives the results of its prerequisites:
///
/// ```swift
/// let workflow = Workflow(name: "Report")
/// let user = try workflow.add("user") { try await api.user() }
/// let project = try workflow.add("project", after: user) { try await api.project(of: $0) }
/// let render = try workflow.add("render", after: user, project) { user, project in
///   Report(for: user, project)
/// }
/// let outcome = try await workflow.run()
/// ```
///
/// Tasks of other kinds, and instances of your own subclasses, are added with
/// ``add(_:prerequisites:)-(Task,AnyWorkflowTask...)``.
///
/// Tasks with no path between them run at the same time, as far as the context has room.
/// A failed task holds up its dependents and no other task. It can be retried, and its
/// dependents then continue. A finished task can be reset and run again.
///
/// ## Threads
///
/// Everything may be called from any thread, and from inside tasks, delegates and
/// observers. All transitions of a workflow happen under one lock, values and states
/// together. No user code runs under that lock. News of the transitions is delivered in
/// order, by one thread at a time: the thread that caused a transition, unless another
/// thread is delivering at that moment. A dependent may begin while an observer is still
/// handling the end of its prerequisite.
///
/// No thread that runs tasks calls a delegate: neither a worker of a context nor a thread of
/// Swift's pool. Such a thread leaves the news to a thread without other work. Futures of tasks
/// settle before the news is delivered. A delegate may therefore be slow, and may wait for the
/// task that the news is about. At most 128 calls of delegates in the whole process go on at a
/// time on such threads, and further news waits for one of them. Some threads do call
/// delegates, and a slow delegate holds them up: a thread of yours that ends, cancels or
/// resets a task; the main thread; and threads of contexts that start work inside the call
/// that asks for it, such as `.inline`, where one thread runs the tasks and delivers the news.
/// If the context is a queue, a call outside tasks delivers the news that it finds. News for
/// delegates and hooks that comes meanwhile, also from calls that a delegate makes, goes to a
/// thread without other work.
/// A call in async code is no exception if the workflow has the context `.inline`, or no
/// tasks: it returns when the news has been delivered, unless a task of an awaited run makes
/// it. Awaiting ``run()`` calls no delegate on a thread of Swift's pool, in any context. To
/// have a delegate called in a context of your choice, use ``setDelegate(_:on:)``.
///
/// With the context `.inline`, a workflow has run as far as it can when ``start(fileID:line:)``
/// returns. There are four exceptions: it contains a subworkflow, or has a journal, which
/// another thread writes, or it is started inside the `input`, the `output` or an inline inner
/// task of a ``SubworkflowTask``. A thread makes its calls between workflows one after the
/// other, and the present one may have to return first. A closure in such a place must
/// therefore not block on a semaphore for another workflow. It uses `wait()` of a future, which
/// first makes the outstanding calls. In every context, that holds also for delegates, hooks
/// and retry policies of a workflow that contains a subworkflow: the end of a task inside may
/// lead to their calls. The third exception is a call inside a task or a hook of the same
/// workflow: the thread runs one task after the other, so what is started there runs when the
/// present task has returned. A task that waits for it, also with `wait()`, waits for ever.
/// Make it a dependent instead, or use a queue. The same holds for every context that starts
/// work inside the call. In a context of your own that does so, it also holds for another
/// workflow with the same context, but there `wait()` makes the other one run, unless the
/// context holds a lock. The fourth exception is a call while another thread is calling
/// delegates of the workflow. If that thread has tasks to run afterwards, it also runs those
/// that the call starts.
///
/// Hooks of a subclass are a part of its work. ``AnyWorkflowTask/didStart()`` is called
/// before `main`. A task that was cancelled, reset or retried does not run again before
/// its hook has been called. The hook is called after all earlier news, so a slow
/// delegate does delay another run of a task with hooks. The work and the observers come
/// after a hook, so keep hooks short, also those that ``AnyWorkflowTask/callHooks(on:)``
/// gives a context. A notification center calls observers that have no queue on the posting
/// thread. Keep such observers short, too.
///
/// The outcome of a run comes after all its news has been delivered. A delegate's method
/// that waits for the outcome waits for ever. Give the delegate a context, or read
/// ``events``.
///
/// ## Lifetime
///
/// A workflow keeps its tasks. It keeps itself alive while a task executes or is about
/// to, and while news is undelivered; otherwise hold a reference to it. A condition that
/// waits to be fulfilled executes; an abandoned run (see ``TaskWork``) does not count. A
/// workflow that waits for a fulfillment that never comes therefore stays until it is
/// cancelled or reset, and so does a paused workflow with a task that would begin: a task that
/// cleans up stays when the workflow is cancelled. Tasks of a
/// released workflow keep their state and result, but do not run again.
public final class Workflow: NSObject, Sendable {
  let core: WorkflowCore

  /// The key of the task in the user info of notifications about a task of a workflow.
  public static let taskKey = "WorkflowTask"

  /// Makes an empty workflow.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - operationQueue: The queue in which the tasks run. By default a new queue without
  ///     a concurrency limit, named after the workflow.
  ///   - notificationCenter: The center to which all notifications are posted. If left
  ///     out, the default center; then a notification is posted only if the program has
  ///     read its name from `Notification.Name` before, because a notification without
  ///     observers costs as much as a task.
  ///   - clock: The clock that measures the timeouts of tasks and of runs; a `ManualClock` in
  ///     tests. If its `sleep` throws, that error ends what has the timeout. A retry policy
  ///     has a clock of its own. Times in traces and descriptions are real times.
  public convenience init(
    name: String? = nil, operationQueue: OperationQueue? = nil,
    notificationCenter: NotificationCenter? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let context = operationQueue ?? OperationQueue(ofLibrary: nil)
    self.init(name: name, in: ContextReference(context), notificationCenter, clock)
    if operationQueue == nil { context.name = "Workflow: \(self.name)" }
  }

  /// Makes an empty workflow whose tasks run in a context of any kind.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - context: The context in which the tasks run. A context that starts an operation
  ///     inside the call that hands it over, even if only when it is busy, runs the tasks
  ///     that become ready during that operation one after the other, until it starts one
  ///     elsewhere again; if many tasks are ready then, this thread runs them all. Such a
  ///     context may hold a lock meanwhile: the thread does not ask
  ///     it again inside the call, also not for another workflow, unless it blocks in a wait
  ///     of this library. Two values of one type count as the same context. If the call is
  ///     made inside a closure of a future, the thread may ask only after that closure.
  ///   - notificationCenter: The center to which all notifications are posted. If left
  ///     out, the default center; then a notification is posted only if the program has
  ///     read its name from `Notification.Name` before, because a notification without
  ///     observers costs as much as a task.
  ///   - clock: The clock that measures the timeouts of tasks and of runs; a `ManualClock` in
  ///     tests. If its `sleep` throws, that error ends what has the timeout. A retry policy
  ///     has a clock of its own. Times in traces and descriptions are real times.
  public convenience init(
    name: String? = nil, context: some ExecutionContext,
    notificationCenter: NotificationCenter? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.init(name: name, in: ContextReference(context), notificationCenter, clock)
  }

  private init(
    name: String?, in context: ContextReference, _ notificationCenter: NotificationCenter?,
    _ clock: any Clock<Duration>
  ) {
    core = WorkflowCore(
      context: context, clock: clock,
      notificationCenter: notificationCenter ?? .default,
      postsEverything: notificationCenter != nil)
    super.init()
    core.belongs(to: self)
    if let name { core.change { $0.name = name } }
  }

  deinit { core.release() }

  // MARK: What it is

  /// A name for people.
  ///
  /// By default it contains the address of the workflow.
  public var name: String {
    get { core.read { $0.name } ?? defaultName }
    set { core.change { $0.name = newValue } }
  }

  /// Restores the default name of the workflow.
  public func resetName() { core.change { $0.name = nil } }

  private var defaultName: String {
    "Workflow 0x\(String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16))"
  }

  /// The delegate of the workflow, which is not kept alive.
  ///
  /// It is called on the thread that delivers the news. ``setDelegate(_:on:)`` gives it a
  /// context.
  public var delegate: (any WorkflowDelegate)? {
    get { core.read { $0.delegate }?.delegate }
    set { replaceDelegate(with: newValue.map { WorkflowDelegateCaller($0) }) }
  }

  /// The queue in which tasks without a context of their own run; `nil` if that is a
  /// context of another kind.
  public var operationQueue: OperationQueue? {
    guard case .operationQueue(let queue) = core.read({ $0.pools[0].context }) else { return nil }
    return queue
  }

  /// The center to which notifications are posted.
  public var notificationCenter: NotificationCenter { core.notificationCenter }

  /// How many tasks may execute at the same time; without limit by default.
  ///
  /// Unlike the concurrency limit of a queue, it also counts tasks whose work goes on
  /// elsewhere, such as async ones. It does not count tasks that wait for an external
  /// condition. A value less than one counts as one.
  ///
  /// The limit also holds for the workflows inside, in addition to their own limits: a
  /// task takes room of its workflow and of every workflow around it. A
  /// ``SubworkflowTask`` takes no room itself from the moment when the inner workflow runs,
  /// also while it makes its result. A task that waits for room is in no queue yet. Cancelling
  /// the queue therefore reaches it only if another task of this workflow executes in that queue.
  public var maxConcurrentTaskCount: Int {
    get { core.read { $0.room.maximum } }
    set { core.changeLimit { $0.maximum = max(newValue, 1) } }
  }

  // MARK: Its tasks

  /// All tasks, in the order in which they were added.
  public var allTasks: [AnyWorkflowTask] { core.read { Array($0.tasks) } }

  /// The tasks without prerequisites, in the order in which they were added.
  public var tasksWithNoPrerequisiteTasks: [AnyWorkflowTask] {
    core.read { state in
      state.tasks.filter { state.graph[$0.index].firstPrerequisite < 0 }
    }
  }

  /// The tasks without dependents, in the order in which they were added.
  public var tasksWithNoDependentTasks: [AnyWorkflowTask] {
    core.read { state in state.tasks.filter { state.graph[$0.index].firstDependent < 0 } }
  }

  /// Returns the prerequisites of a task; `nil` if it is not in this workflow.
  ///
  /// - Parameter task: The task.
  public func prerequisites(for task: AnyWorkflowTask) -> [AnyWorkflowTask]? {
    contains(task) ? task.prerequisiteTasks : nil
  }

  /// Returns the prerequisites of a task that have no key; `nil` if it is not in this
  /// workflow.
  ///
  /// - Parameter task: The task.
  public func unkeyedPrerequisites(for task: AnyWorkflowTask) -> [AnyWorkflowTask]? {
    contains(task) ? task.unkeyedPrerequisiteTasks : nil
  }

  /// Returns the prerequisites of a task that have keys; `nil` if it is not in this
  /// workflow.
  ///
  /// - Parameter task: The task.
  public func keyedPrerequisites(
    for task: AnyWorkflowTask
  ) -> [AnyHashable: AnyWorkflowTask]? {
    contains(task) ? task.keyedPrerequisiteTasks : nil
  }

  /// Returns the dependents of a task; `nil` if it is not in this workflow.
  ///
  /// - Parameter task: The task.
  public func dependents(for task: AnyWorkflowTask) -> [AnyWorkflowTask]? {
    contains(task) ? task.dependentTasks : nil
  }

  /// Returns whether a task is in this workflow.
  ///
  /// - Parameter task: The task.
  public func contains(_ task: AnyWorkflowTask) -> Bool { task.core === core }

  /// Whether there are tasks that have neither finished nor been skipped.
  public var hasUnfinishedTasks: Bool { core.read { $0.graph.unfinishedCount > 0 } }

  /// Whether there are failed tasks.
  public var hasFailedTasks: Bool { core.read { $0.graph.failedCount > 0 } }

  // MARK: Describing

  /// The type, the address, the name, and how many tasks have finished.
  public override var description: String {
    let (finished, count) = core.read { state in
      (state.graph.count - state.graph.unfinishedCount, state.graph.count)
    }
    let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    return "<Workflow: 0x\(address) name = \(name); finished = \(finished) of \(count)>"
  }

  /// The description of the workflow and, indented, of its tasks below their
  /// prerequisites.
  ///
  /// A task that is reached twice is shown with its dependents only once. Of a large
  /// graph, only the first thousand lines are shown.
  public override var debugDescription: String {
    let tree = core.tree(from: tasksWithNoPrerequisiteTasks, indent: 1)
    return tree.isEmpty ? description : description + "\n" + tree
  }
}
