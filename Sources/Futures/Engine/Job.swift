/// One user closure that is to run: a link's, or an observer's.
package struct Job {
  /// The future whose closure it is.
  package let future: AnyFuture
  /// The settled future that the closure reads.
  let source: AnyFuture
  /// An observer's handler.
  ///
  /// A link keeps its closure itself until it runs, so that settling otherwise
  /// releases it.
  let handler: Work?

  package init(future: AnyFuture, source: AnyFuture, handler: Work?) {
    self.future = future
    self.source = source
    self.handler = handler
  }

  /// Runs the closure, unless the future has settled otherwise meanwhile.
  func run() {
    // (A dependency may have been added while the job waited for its slot. An
    // observer's handler was looked at when it was handed off.)
    if handler == nil, future.hasDependencies,
      future.holdForDependencies(self, on: future.storage.context)
    {
      return
    }
    if let handler {
      handler.body(future, source)
      // An observer has settled long before; its handler was what waited.
      if future.hasDependencies { future.forgetDependencies() }
    } else {
      future.runWork(source)
    }
  }

  /// The context dropped the job: the promise behind it is broken.
  package func abandon() {
    if handler == nil { future.breakPromise() }
  }

  /// Asks the context to start the job, or runs it as soon as this thread can.
  consuming func handOff(to context: ContextReference, in drain: Drain) {
    switch context {
    case .inline:
      drain.runInline(self)
    case .operationQueue(let queue):
      queue.addReliably(Turn(self, on: context))
    case .dispatchQueue(let queue):
      SchedulingPoints.handOff()
      // Sendable: handed over to the queue, and not touched here any more.
      nonisolated(unsafe) let job = self
      queue.async { Drain.current.runTurn(job, on: context, slot: nil) }
    case .custom(let custom):
      custom.context.execute(Turn(self, on: context))
    }
  }
}
