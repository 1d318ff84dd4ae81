/// A user's closure that is ready to run.
package struct Continuation {
  /// The purpose of the closure, which decides what cancelling its placeholder does.
  enum Kind {
    /// The closure makes the result of `future`, which keeps the closure until it runs
    /// or the future settles otherwise. Cancelling the placeholder cancels the future.
    case link
    /// The closure reads a settled future. Cancelling the placeholder drops it.
    case handler(Work)
    /// The closure cleans up. It runs even if the placeholder is cancelled.
    case cleanup(Work)
    /// The closure decides whether the future goes on, which waits for it.
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

  /// Makes the continuation of a closure that the future does not keep.
  package static func handler(
    of future: AnyFuture, reading source: AnyFuture, _ work: Work
  ) -> Continuation {
    Continuation(future, reading: source, .handler(work))
  }

  /// Makes the continuation of a closure that decides whether a future goes on.
  package static func question(of future: AnyFuture, _ work: Work) -> Continuation {
    Continuation(future, reading: future, .question(work))
  }

  /// Whether the future cannot settle before the closure has returned, as far as the closure
  /// is to settle it.
  var holdsFutureUp: Bool {
    switch kind {
    case .link, .question: true
    case .handler, .cleanup: false
    }
  }

  /// Whether the continuation makes the future's result.
  var isLink: Bool {
    if case .link = kind { return true }
    return false
  }

  /// Runs the closure, unless the future has settled otherwise meanwhile.
  func run() {
    switch kind {
    case .link:
      // (A dependency may have been added while the continuation waited for its
      // place.)
      if future.hasDependencies, future.holdForDependencies(self, on: future.storage.context) {
        return
      }
      future.runWork(reading: source)
    case .handler(let work), .cleanup(let work), .question(let work):
      work.body(future, source)
      if future.hasDependencies { future.forgetDependencies() }
    }
  }

  /// The context has dropped the continuation: the promise behind it is broken.
  package func abandon() { if isLink { future.breakPromise() } }
}
