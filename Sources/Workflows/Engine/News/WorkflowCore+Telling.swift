import Foundation
import Futures

// Delivers news to hooks, delegates, notification centers, streams and the library's own
// observers. Nothing here runs with the lock held.

extension WorkflowCore {
  /// Announces an event before it happens: at once, on the calling thread.
  ///
  /// If earlier news is not delivered yet, the announcement comes after it instead.
  func announce(_ event: WorkflowEvent, as notification: WorkflowNotification) {
    let isLate = change { state in
      guard state.isTelling || !state.news.isEmpty else { return false }
      announceLater(event, as: notification, &state)
      return true
    }
    if !isLate { tell(event, as: notification) }
  }

  private func tell(_ event: WorkflowEvent, as notification: WorkflowNotification) {
    guard let workflow else { return }
    post(notification, by: workflow)
    yield(event)
  }

  /// With the lock held: adds the announcement to the news instead.
  func announceLater(
    _ event: WorkflowEvent, as notification: WorkflowNotification, _ state: inout State
  ) {
    if postsEverything || notification.isUsed || state.hasWatchers {
      state.news.append(.announced(event, notification))
    }
  }

  /// Calls the task's hook for a piece of news, in the context of the hooks if they have one.
  func callHook(for news: Delivery) {
    guard let task = news.task, task.hasHooks, !news.hasStartHook else { return }
    if case .attemptFailed = news { return }
    if let calls = task.settingsIfAny?.get(\.hookCalls) {
      let call = HookCall(of: self, news)
      calls.append { call.make() }
    } else {
      releasingAutoreleased { callHookHere(for: news) }
    }
  }

  /// Calls the task's hook for a piece of news on this thread.
  func callHookHere(for news: Delivery) {
    switch news {
    case .started(let task, _): task.didStart()
    case .finished(let task, let box): task.callDidFinish(box)
    case .failed(let task, let error): task.didFail(with: error)
    case .skipped(let task): task.didSkip()
    case .cancelled(let task): task.didCancel()
    case .reset(let task): task.didReset()
    case .retried(let task): task.didRetry()
    case .attemptFailed, .workflowFinished, .announced: break
    }
    hookIsDone(with: news)
  }

  /// Notes that the task's hook was called for a piece of news, or never will be.
  func hookIsDone(with news: Delivery) {
    switch news {
    case .cancelled(let task), .reset(let task), .retried(let task): hookWasTold(task)
    default: break
    }
  }

  /// Delivers a piece of news to the task's delegate, its notification, the workflow's
  /// delegate, its notification and its streams.
  func tellObservers(_ news: Delivery) {
    switch news {
    case .finished(let task, let box): task.tellDelegateOfFinish(box)
    case .failed(let task, let error): task.tellDelegate { $0.task(task, didFailWith: error) }
    case .cancelled(let task): task.tellDelegate { $0.taskDidCancel(task) }
    case .skipped(let task): task.tellDelegate { $0.taskDidSkip(task) }
    case .announced(let event, let notification): tell(event, as: notification)
    case .started, .reset, .retried, .attemptFailed, .workflowFinished: break
    }
    if postsEverything || WorkflowNotification.isAnyUsed || read({ $0.hasWatchers }) {
      tellWatchers(news)
    }
  }

  private func tellWatchers(_ news: Delivery) {
    switch news {
    case .started(let task, _):
      post(.taskDidStart, by: task)
      tellDelegate { $0.workflow($1, taskDidStart: task) }
      yield(.taskDidStart(task))
    case .finished(let task, _):
      post(.taskDidFinish, by: task)
      tellDelegate { $0.workflow($1, taskDidFinish: task) }
      yield(.taskDidFinish(task))
    case .failed(let task, let error):
      post(.taskDidFail, by: task)
      tellDelegate { $0.workflow($1, task: task, didFailWith: error) }
      postByWorkflow(.workflowTaskDidFail, about: task)
      yield(.taskDidFail(task))
    case .cancelled(let task):
      post(.taskDidCancel, by: task)
      tellDelegate { $0.workflow($1, taskDidCancel: task) }
      postByWorkflow(.workflowTaskDidCancel, about: task)
      yield(.taskDidCancel(task))
    case .skipped(let task):
      post(.taskDidSkip, by: task)
      tellDelegate { $0.workflow($1, taskDidSkip: task) }
      yield(.taskDidSkip(task))
    case .reset(let task):
      post(.taskDidReset, by: task)
      yield(.taskDidReset(task))
    case .attemptFailed(let task, let attempt):
      yield(.taskAttemptDidFail(task, attempt))
    case .announced: break
    case .retried(let task):
      post(.taskDidRetry, by: task)
      yield(.taskDidRetry(task))
    case .workflowFinished:
      tellDelegate { $0.workflowDidFinish($1) }
      if let workflow { post(.workflowDidFinish, by: workflow) }
      yield(.workflowDidFinish)
    }
    tellCounters(news)
  }

  private func post(_ notification: WorkflowNotification, by object: AnyObject) {
    guard postsEverything || notification.isUsed else { return }
    notificationCenter.post(name: notification.name, object: object)
  }

  private func postByWorkflow(_ notification: WorkflowNotification, about task: AnyWorkflowTask) {
    guard postsEverything || notification.isUsed, let workflow else { return }
    notificationCenter.post(
      name: notification.name, object: workflow, userInfo: [Workflow.taskKey: task])
  }

  // MARK: Progress, and futures of tasks

  private func tellCounters(_ news: Delivery) {
    let (progress, owner) = read { ($0.progress, $0.owner?.task) }
    guard let progress, progress.tell(news), let owner else { return }
    // The progress of an outer workflow is computed from this one.
    owner.core?.tellProgress(of: owner)
  }

  /// Removes a future of a task that was cancelled.
  func forgetWaiter(_ number: UInt64, for index: TaskIndex) {
    let old = change { state in
      let old = state.taskWaiters[index]?.removeValue(forKey: number)
      if state.taskWaiters[index]?.isEmpty == true { state.taskWaiters[index] = nil }
      return old
    }
    withExtendedLifetime(old) {}
  }
}
