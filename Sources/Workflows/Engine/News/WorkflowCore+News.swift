import Futures

// Which thread delivers the news of a workflow: one at a time, in order, with no lock held. The
// receivers are in `WorkflowCore+Telling.swift`.

extension WorkflowCore {
  /// With the lock held: notes the end of a task's run, if observers or futures want it.
  @inline(__always)
  func noteEnd(
    of task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects,
    _ news: () -> Delivery
  ) {
    let waiters = state.takeWaiters(task.index)
    let isWanted = wantsNews(of: task, state)
    guard isWanted || waiters != nil else { return }
    let news = news()
    if isWanted { state.news.append(news) }
    for waiter in waiters ?? [] { effects.waiters.append((waiter, news)) }
  }

  /// Whether any observer may want news of a task.
  @inline(__always)
  func wantsNews(of task: AnyWorkflowTask, _ state: borrowing State) -> Bool {
    task.hasHooks || postsEverything || WorkflowNotification.isAnyUsed || task.hasSettings
      || state.hasWatchers
  }

  /// Delivers the news of the workflow, unless another thread does.
  func tellIfNeeded() {
    let isTeller = change { state in
      defer { state.isTelling = true }
      return !state.isTelling
    }
    var news: ContiguousArray<Delivery> = []
    if isTeller { tell(&news) }
  }

  /// Continues the delivery that a start hook held up, after the worker has called the
  /// hook.
  func wasCalled(_ hook: StartHook) {
    if var news = hook.wasCalled() { tell(&news, isOwn: false) }
  }

  /// Whether delivering the news calls delegates, which may be slow.
  ///
  /// Streams and counters are fast. A notification center calls its observers on the
  /// posting thread or on a queue of theirs, as they have chosen.
  private func callsDelegates(_ news: borrowing ContiguousArray<Delivery>) -> Bool {
    read { $0.delegate != nil } || news.contains(where: \.isForDelegate)
  }

  /// Whether the calling thread runs tasks and therefore should not call delegates.
  private var isThreadAtWork: Bool {
    guard WorkflowThread.existing != nil || WorkflowThread.isOfPool else { return false }
    let (isInline, isEmpty) = read { ($0.pools[0].isSynchronous, $0.graph.count == 0) }
    return WorkflowThread.isAtWork(for: self, isInline: isInline, isEmpty: isEmpty)
  }

  /// Whether the calling thread, which has changed the workflow, is in no worker and delivers
  /// only the news that it finds.
  ///
  /// In a context that may start work inside the call, and in an empty workflow, the call also
  /// delivers the news of what it starts.
  private var isThreadOfCaller: Bool {
    WorkflowThread.existing?.frame == nil
      && read { $0.pools[0].context.isQueue && $0.graph.count > 0 }
  }

  /// Delivers the news on a thread that has no other work.
  ///
  /// - Parameter isForHooks: Whether to call hooks for this news, too.
  private func tellElsewhere(_ news: ContiguousArray<Delivery>, isForHooks: Bool) {
    NewsThreads.call { [workflow] in
      var news = news
      withExtendedLifetime(workflow) { self.tell(&news, isOwn: false, isForHooks: isForHooks) }
    }
  }

  /// Delivers all news of the workflow, on one thread at a time.
  ///
  /// A thread that runs tasks leaves calls of delegates to another thread: a delegate may
  /// be slow, and may wait for the task that this thread has begun. Such a thread calls
  /// hooks only for its own changes. In a synchronous context, the call that starts the
  /// work also delivers the news before it returns. Another call that makes changes, in no
  /// worker, delivers only the news that it finds: while a delegate is slow, tasks may make
  /// news without end.
  ///
  /// - Parameters:
  ///   - news: The first news to deliver. Its buffer is reused.
  ///   - isOwn: Whether this thread made the changes that the news reports.
  ///   - isForHooks: Whether to call hooks for the first news, too.
  func tell(
    _ news: inout ContiguousArray<Delivery>, isOwn: Bool = true, isForHooks: Bool = true
  ) {
    let isAtWork = isThreadAtWork
    var (isForHooks, hasFound) = (isForHooks, !news.isEmpty)
    if isAtWork, callsDelegates(news) || (!isOwn && news.contains(where: \.isForHook)) {
      let callsHooks = isOwn && !news.contains(where: \.hasStartHook)
      if callsHooks { for item in news { callHook(for: item) } }
      return tellElsewhere(news, isForHooks: !callsHooks)
    }
    // Declared outside the loop: the last reference must not be released with the lock
    // held.
    var (kept, released): (Workflow?, Workflow?)
    defer { withExtendedLifetime((kept, released)) {} }
    var spawns: [PoolReference] = []
    var ending: [Workflow] = []
    while true {
      for index in news.indices {
        let item = news[index]
        if case .started(_, let hook?) = item, hook.holdsUp(news[index...]) { return }
        if isForHooks { callHook(for: item) }
        releasingAutoreleased { tellObservers(item) }
      }
      isForHooks = true
      news.removeAll(keepingCapacity: news.capacity <= 1024)
      let rest: Rest? = change { state in
        if !state.news.isEmpty {
          swap(&news, &state.news)
          return nil
        }
        if state.comesToRest, !waitsForNewsInside(state, &kept), let rest = comesToRest(&state) {
          return rest
        }
        state.isTelling = false
        if !state.mustBeKept { released = state.keptAlive.take() }
        swap(&spawns, &state.spawnsAfterTelling)
        swap(&ending, &state.endingAfterTelling)
        // The next delivery reuses the buffer.
        swap(&news, &state.news)
        return nil
      }
      if let rest { releasingAutoreleased { tell(rest) } } else if news.isEmpty { break }
      let leavesNews = isAtWork || (isOwn && hasFound && !news.isEmpty && isThreadOfCaller)
      if leavesNews, callsDelegates(news) || news.contains(where: \.isForHook) {
        return tellElsewhere(news, isForHooks: true)
      }
      hasFound = true
    }
    for pool in spawns { pool.core.spawn(pool.pool) }
    // Deferred, because workflows may be nested deeply.
    for outer in ending { WorkflowThread.current.call { outer.core.tellIfNeeded() } }
  }
}
