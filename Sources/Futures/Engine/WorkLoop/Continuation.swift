/// A user's closure that is ready to run.
package struct Continuation {
  /// The purpose of the closure.
  ///
  /// It decides what cancelling the placeholder operation does.
  enum Kind {
    /// The closure makes the result of `future`.
    ///
    /// The future keeps the closure until it runs or the future settles in another way.
    /// Cancelling the placeholder cancels the future.
    case link
    /// The closure reads a settled future.
    ///
    /// Cancelling the placeholder drops it.
    case handler(Work)
    /// The closure cleans up.
    ///
    /// It runs even if the placeholder is cancelled.
    case cleanup(Work)
    /// The closure decides whether the future goes on.
    ///
    /// The future waits for it.
    case question(Work)
  }

  /// The future that the closure belongs to.
  package let future: AnyFuture
  /// The settled future that the closure reads.
  package let source: AnyFuture
  let kind: Kind

  @inline(__always)
  init(_ future: consuming AnyFuture, reading source: AnyFuture, _ kind: Kind = .link) {
    self.future = future
    self.source = source
    self.kind = kind
  }

  /// Makes the continuation that runs a future's own closure.
  package static func link(_ future: AnyFuture, reading source: AnyFuture) -> Continuation {
    Continuation(future, reading: source)
  }

  /// Makes the continuation of a closure that the future itself does not keep.
  package static func handler(
    of future: AnyFuture, reading source: AnyFuture, _ work: Work
  ) -> Continuation {
    Continuation(future, reading: source, .handler(work))
  }

  /// Makes the continuation of a closure that decides whether a future goes on.
  package static func question(of future: AnyFuture, _ work: Work) -> Continuation {
    Continuation(future, reading: future, .question(work))
  }

  /// Whether the future waits for the closure, unless it settles in another way.
  var holdsFutureUp: Bool {
    switch kind {
    case .link, .question: true
    case .handler, .cleanup: false
    }
  }

  /// Whether the continuation makes the future's result.
  var isLink: Bool { if case .link = kind { true } else { false } }

  /// Runs the closure, unless the future has settled in another way.
  func run() {
    switch kind {
    case .link:
      // A dependency may have been added while the continuation waited for its slot.
      if future.hasDependencies, future.holdForDependencies(self, on: future.storage.context) {
        return
      }
      future.runWork(reading: source)
    case .handler(let work), .cleanup(let work), .question(let work):
      work.body(future, source)
      if future.hasDependencies { future.forgetDependencies() }
    }
  }

  /// Lets the future go, because the closure will not run: the context has dropped it, or
  /// the handler was cancelled with its queue.
  ///
  /// The promise behind a link is broken.
  package func abandon() {
    if isLink {
      future.breakPromise()
    } else if future.hasDependencies {
      future.forgetDependencies()
    }
  }
}
