import Workflows

/// What a task that runs a workflow promises, written down without its engine.
///
/// There is an outer and an inner workflow, each a ``WorkflowModel``. One task
/// of the outer one is driven by the inner one; this is how. What one workflow
/// brings about in the other happens when what has brought it about is done.
final class NestedModel {
  private(set) var outer: WorkflowModel
  private(set) var inner: WorkflowModel
  /// The task that runs the inner workflow.
  private let sub: Int

  /// What the inner workflow is to hear when the task runs next.
  private var owesReset = false
  private var owesRetry = false
  private var isToldFromInside = false
  private var calls: [() -> Void] = []
  private var isCalling = false
  private var isOuterAtWork = false
  private var isInnerAtWork = false

  init(outer: WorkflowModel, inner: WorkflowModel, sub: Int) {
    (self.outer, self.inner, self.sub) = (outer, inner, sub)
    innerTasks = Array(inner.tasks.indices)
  }

  private let innerTasks: [Int]
  private var isInnerFinished: Bool { inner.tasks.allSatisfy { $0.state == .finished } }

  // MARK: Events from outside

  func changeOuter<Value>(_ body: (inout WorkflowModel) -> Value) -> Value {
    let value = body(&outer)
    outerHasChanged()
    return value
  }

  /// Starts the outer workflow, and the inner one if that is stuck.
  func startAll() {
    let isStuck =
      outer.tasks[sub].state == .executing && !inner.isActive && !isInnerFinished
      && !inner.tasks.contains { $0.state == .failed || $0.state == .cancelled }
    changeOuter { $0.startAll() }
    if isStuck { changeInner { $0.startAll() } }
  }

  func changeInner<Value>(_ body: (inout WorkflowModel) -> Value) -> Value {
    let value = body(&inner)
    innerHasChanged()
    return value
  }

  /// Does something when what is being done is done.
  private func call(_ body: @escaping () -> Void) {
    calls.append(body)
    guard !isCalling else { return }
    isCalling = true
    while !calls.isEmpty { calls.removeFirst()() }
    isCalling = false
  }

  // MARK: From the outer to the inner

  private func outerHasChanged() {
    let heard = outer.heard
    outer.heard = []
    for (message, changed) in heard {
      switch message {
      case .cancel where !isToldFromInside:
        call { [self] in changeInner { $0.send(.cancel, to: innerTasks) } }
      case .reset:
        (owesReset, owesRetry) = (true, false)
        call { [self] in if owesReset { resetInner() } }
      // (Inner tasks may have failed when the inner workflow ran alone.)
      case .retry where changed || hasNotBegun:
        owesRetry = true
      default: break
      }
    }
    guard !isOuterAtWork else { return }
    isOuterAtWork = true
    while outer.work() != nil { subBegins() }
    isOuterAtWork = false
  }

  private var hasNotBegun: Bool {
    outer.tasks[sub].state == .pending || outer.tasks[sub].state == .ready
  }

  private func resetInner() {
    owesReset = false
    changeInner { $0.send(.reset, to: innerTasks) }
  }

  private func subBegins() {
    let retries = owesRetry
    let run = outer.tasks[sub].runs
    if owesReset { resetInner() }
    owesRetry = false
    if isInnerFinished { return finish(run: run) }
    if !retries {
      if inner.tasks.contains(where: { $0.state == .failed }) {
        _ = outer.fail(sub)
        return outerHasChanged()
      }
      if inner.tasks.contains(where: { $0.state == .cancelled }) { return cancelAlone() }
    }
    call { [self] in
      if retries { changeInner { $0.send(.retry, to: innerTasks) } }
      changeInner { $0.startAll() }
      if isInnerFinished { finish(run: run) }
    }
  }

  private func finish(run: Int?) {
    _ = outer.finish(sub, run: run, with: 9)
    outerHasChanged()
  }

  private func cancelAlone() { sendAlone(.cancel) }

  private func sendAlone(_ message: WorkflowModel.Message) {
    isToldFromInside = true
    outer.send(message, to: [sub])
    // (What the task itself hears does not go back inside.)
    outer.heard = []
    isToldFromInside = false
    outerHasChanged()
  }

  // MARK: From the inner to the outer

  private func innerHasChanged() {
    tellNews()
    guard !isInnerAtWork else { return }
    isInnerAtWork = true
    inner.work()
    isInnerAtWork = false
    tellNews()
  }

  private func tellNews() {
    while !inner.news.isEmpty {
      let news = inner.news.removeFirst()
      call { [self] in hear(news) }
    }
  }

  private func hear(_ news: WorkflowModel.News) {
    let state = outer.tasks[sub].state
    switch news {
    case .failed(let task):
      // (Old news means nothing any more.)
      guard inner.tasks[task].state == .failed, outer.fail(sub) else { return }
      outerHasChanged()
    case .cancelled(let task):
      guard inner.tasks[task].state == .cancelled else { return }
      if state == .pending || state == .ready || state == .executing { cancelAlone() }
    case .resultReset:
      if state == .finished { sendAlone(.reset) }
    case .allFinished:
      guard isInnerFinished else { return }
      if state == .executing { return finish(run: nil) }
      guard state == .failed || state == .cancelled else { return }
      outer.send(.retry, to: [sub])
      outerHasChanged()
    }
  }
}
