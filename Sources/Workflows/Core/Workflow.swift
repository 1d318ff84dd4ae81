import Foundation
import Futures

/// A graph of tasks, each of which runs when those before it have finished.
///
/// Make a workflow, add tasks after those that they wait for, and run it. The
/// results of those are what a closure gets:
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
/// Tasks of other kinds, and those that you have made yourself, are added with
/// ``add(_:prerequisites:)-(Task,AnyWorkflowTask...)``.
///
/// Tasks with no path between them run at the same time, as far as the context
/// has room. A task that fails holds up those that depend on it and nothing
/// else; it can be retried, and the rest then goes on. What has finished can be
/// reset and run again.
///
/// ## Threads
///
/// Everything may be called from any thread, and from inside tasks, delegates
/// and observers. All transitions of a workflow happen under one lock, values
/// and states together; nobody is called under it. The news of transitions are
/// told in their order, by one thread at a time: by the thread that caused a
/// transition, unless another is telling at that moment. A dependent may begin
/// while an observer is still being told that its prerequisite has finished.
///
/// No thread that runs tasks calls a delegate: neither a worker of a context nor a thread of
/// Swift's pool. It leaves the news to a thread that has nothing else to do. Futures of
/// tasks settle before the news is told. So a delegate may be slow, and may wait for the
/// task that it is told of. Some threads do call delegates, and are held up by a slow one:
/// a thread of yours that ends, cancels or resets a task; the main queue's; and those of
/// contexts that start work in the call that asks for it, such as `.inline`, where one
/// thread runs the tasks and tells of them. To have a delegate told on a thread of your
/// choice, use ``setDelegate(_:on:)``.
///
/// Hooks of a subclass are a part of its work: ``AnyWorkflowTask/didStart()`` is called
/// before `main`, and a task that was cancelled, reset or retried does not run again
/// before its hook has been called. That comes after the news before it, so a slow delegate
/// does hold up another run of a task with hooks. Observers of notifications are called
/// where the notification center calls them: by the thread that posts, if they have no
/// queue. Keep both short.
///
/// The outcome of a run comes when all its news have been told. A delegate's method that
/// waits for it waits for ever; give the delegate a context, or read ``events``.
///
/// ## Lifetime
///
/// A workflow keeps its tasks. While a task is executing, or about to, or news have yet to
/// be told, the workflow is kept alive by itself; otherwise hold on to it. A condition that
/// waits to be fulfilled executes, and a run that its block has let go of does not. So a
/// workflow that waits for what never comes stays until it is cancelled or reset.
/// Tasks of a released workflow keep their state and result, but do not run again.
public final class Workflow: NSObject, Sendable {
  let core: WorkflowCore

  /// The key of the task in the user info of notifications about a task of a
  /// workflow.
  public static let taskKey = "WorkflowTask"

  /// Makes an empty workflow.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - operationQueue: Where the tasks run; a new queue if left out, named
  ///     after the workflow, without a limit of its own.
  ///   - notificationCenter: Where notifications are posted, all of them. If left
  ///     out, the default center; there a notification is posted only if the
  ///     program has read its name from `Notification.Name` before, because one that
  ///     has no observer costs as much as a task does.
  public convenience init(
    name: String? = nil, operationQueue: OperationQueue? = nil,
    notificationCenter: NotificationCenter? = nil
  ) {
    let context = operationQueue ?? OperationQueue()
    self.init(name: name, in: ContextReference(context), notificationCenter)
    if operationQueue == nil { context.name = "Workflow: \(self.name)" }
  }

  /// Makes an empty workflow whose tasks run in a context of any kind.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - context: Where the tasks run.
  ///   - notificationCenter: Where notifications are posted, all of them. If left
  ///     out, the default center; there a notification is posted only if the
  ///     program has read its name from `Notification.Name` before, because one that
  ///     has no observer costs as much as a task does.
  public convenience init(
    name: String? = nil, context: some ExecutionContext,
    notificationCenter: NotificationCenter? = nil
  ) {
    self.init(name: name, in: ContextReference(context), notificationCenter)
  }

  private init(
    name: String?, in context: ContextReference, _ notificationCenter: NotificationCenter?
  ) {
    core = WorkflowCore(
      context: context, isSynchronous: context.isInline,
      notificationCenter: notificationCenter ?? .default,
      postsEverything: notificationCenter != nil)
    super.init()
    core.belongs(to: self)
    if let name { core.change { $0.name = name } }
  }

  deinit { core.release() }

  // MARK: What it is

  /// A name for people; by default made of the address of the workflow.
  public var name: String {
    get { core.read { $0.name } ?? defaultName }
    set { core.change { $0.name = newValue } }
  }

  /// Goes back to the name that the workflow has by default.
  public func resetName() { core.change { $0.name = nil } }

  private var defaultName: String {
    "Workflow 0x\(String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16))"
  }

  /// Is told when the workflow finishes, and when a task fails or is
  /// cancelled; not kept alive.
  ///
  /// It is told where the news are; ``setDelegate(_:on:)`` gives it a context.
  public var delegate: (any WorkflowDelegate)? {
    get { core.read { $0.delegate }?.given }
    set { replaceDelegate(with: newValue.map { WeakWorkflowDelegate($0) }) }
  }

  /// The queue in which tasks run that have none of their own; `nil` if they
  /// run in a context of another kind.
  public var operationQueue: OperationQueue? {
    guard case .operationQueue(let queue) = core.read({ $0.pools[0].context }) else { return nil }
    return queue
  }

  /// Where notifications are posted.
  public var notificationCenter: NotificationCenter { core.notificationCenter }

  /// How many tasks execute at the same time at most; without limit by
  /// default.
  ///
  /// Unlike the concurrency limit of a queue it also counts tasks whose work
  /// goes on elsewhere, such as async ones; not those that wait for an
  /// external condition. Less than one counts as one.
  ///
  /// The limit holds for the workflows inside as well, beside limits of their own: a
  /// task takes room of its workflow and of every workflow around that. A
  /// ``SubworkflowTask`` takes none itself while the inner workflow goes on. A task that
  /// waits for room is in no queue yet: cancelling the queue does not reach it.
  public var maxConcurrentTaskCount: Int {
    get { core.read { $0.room.maximum } }
    set { core.changeLimit { $0.maximum = max(newValue, 1) } }
  }

  // MARK: Its tasks

  /// All tasks, in the order in which they were added.
  public var allTasks: [AnyWorkflowTask] { core.read { Array($0.tasks) } }

  /// The tasks that wait for none, in the order in which they were added.
  public var tasksWithNoPrerequisiteTasks: [AnyWorkflowTask] {
    core.read { state in
      state.tasks.filter { state.graph[$0.index].firstPrerequisite < 0 }
    }
  }

  /// The tasks that no other waits for, in the order in which they were added.
  public var tasksWithNoDependentTasks: [AnyWorkflowTask] {
    core.read { state in state.tasks.filter { state.graph[$0.index].firstDependent < 0 } }
  }

  /// The prerequisites of a task; `nil` if it is not in this workflow.
  ///
  /// - Parameter task: The task.
  public func prerequisites(for task: AnyWorkflowTask) -> [AnyWorkflowTask]? {
    contains(task) ? task.prerequisiteTasks : nil
  }

  /// The prerequisites of a task that have no key; `nil` if it is not in this
  /// workflow.
  ///
  /// - Parameter task: The task.
  public func unkeyedPrerequisites(for task: AnyWorkflowTask) -> [AnyWorkflowTask]? {
    contains(task) ? task.unkeyedPrerequisiteTasks : nil
  }

  /// The prerequisites of a task that have keys; `nil` if it is not in this
  /// workflow.
  ///
  /// - Parameter task: The task.
  public func keyedPrerequisites(
    for task: AnyWorkflowTask
  ) -> [AnyHashable: AnyWorkflowTask]? {
    contains(task) ? task.keyedPrerequisiteTasks : nil
  }

  /// The tasks that wait for a task; `nil` if it is not in this workflow.
  ///
  /// - Parameter task: The task.
  public func dependents(for task: AnyWorkflowTask) -> [AnyWorkflowTask]? {
    contains(task) ? task.dependentTasks : nil
  }

  /// Whether a task is in this workflow.
  ///
  /// - Parameter task: The task.
  public func contains(_ task: AnyWorkflowTask) -> Bool { task.core === core }

  /// Whether some tasks have neither finished nor been skipped; `false` if there are none.
  public var hasUnfinishedTasks: Bool { core.read { $0.graph.unfinishedCount > 0 } }

  /// Whether some tasks have failed.
  public var hasFailedTasks: Bool { core.read { $0.graph.failedCount > 0 } }

  // MARK: Describing

  /// The type, the address, the name and how many tasks have finished.
  public override var description: String {
    let (finished, count) = core.read { state in
      (state.graph.count - state.graph.unfinishedCount, state.graph.count)
    }
    let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    return "<Workflow: 0x\(address) name = \(name); finished = \(finished) of \(count)>"
  }

  /// The description of the workflow and, indented, of its tasks below those
  /// that they wait for.
  ///
  /// A task that is reached twice is shown with what depends on it only once.
  /// Of a large graph it shows the first thousand lines.
  public override var debugDescription: String {
    let tree = core.tree(from: tasksWithNoPrerequisiteTasks, indent: 1)
    return tree.isEmpty ? description : description + "\n" + tree
  }
}
