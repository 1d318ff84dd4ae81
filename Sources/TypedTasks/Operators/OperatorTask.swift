import Foundation
import Futures

/// An operator: it waits for its upstream and makes its own result from the upstream's
/// result.
///
/// The operator runs its closure itself; it is not a group around another task.
/// Cancelling it settles it at once, whatever its closure is doing. It then asks its
/// upstream to cancel, unless the upstream has other consumers.
@usableFromInline
final class OperatorTask<Output: Sendable, Failure: Error>: ProducerTask<Output, Failure>,
  @unchecked Sendable
{
  // Sendable: adds no state that changes.
  private let label: StaticString

  @usableFromInline
  init(
    _ label: StaticString, below upstream: AnyFuture?, core: OperatorCore<Output, Failure>,
    work: Work?, at birthplace: Birthplace? = nil
  ) {
    self.label = label
    super.init(
      core: core, name: nil, qos: .default, priority: .normal, upstream: upstream, work: work,
      at: birthplace ?? upstream?.birthplace ?? Birthplace(#fileID, #line))
    guard let upstream else { return }
    upstream.taskCore?.branches.wrappingAdd(1, ordering: .relaxed)
    if upstream.hasCustomScheduling {
      setScheduling(qos: upstream.qualityOfService, priority: upstream.queuePriority)
    }
  }

  override var defaultName: String { "\(label)" }

  /// Never called: the closure runs instead.
  override func execute() {}

  // MARK: Settling by closures

  /// Settles with a value that the closure has made.
  @inlinable @inline(__always)
  func succeed(with value: Output, from origin: SettlementOrigin = .closure) {
    settle(success: value, from: origin)
  }

  /// Settles with an error that the closure has made.
  func fail(with error: ProducerTaskProtocolError<Failure>) {
    settle(failing: error, from: .closure)
  }

  /// Settles with an error that the closure has thrown, or as cancelled if the error says
  /// so.
  func fail(thrown error: Failure) { settle(failing: failure(ofThrown: error), from: .closure) }

  /// Settles like a task that the closure has made.
  ///
  /// The task is put in this task's queue if it is in none. If the closure has made a
  /// future, `take` decides when that has settled.
  func follow(_ inner: AnyFuture) {
    unsafeDowncast(core, to: OperatorCore<Output, Failure>.self).follow(inner, self)
  }
}

/// The outcomes of its upstream that an operator acts on.
@usableFromInline
struct Acting: OptionSet {
  @usableFromInline let rawValue: UInt8
  @usableFromInline init(rawValue: UInt8) { self.rawValue = rawValue }
  @usableFromInline static var success: Acting { Acting(rawValue: 1) }
  static var failure: Acting { Acting(rawValue: 2) }
  static var cancellation: Acting { Acting(rawValue: 4) }
  /// The closure may make a task to continue with.
  static var following: Acting { Acting(rawValue: 8) }
  static var always: Acting { [.success, .failure, .cancellation] }
}

/// The core of an operator.
@usableFromInline
final class OperatorCore<Output: Sendable, Failure: Error>: FinalTaskCore<Output, Failure>,
  ProgressMark, @unchecked Sendable
{
  // Sendable: `highestProgress` is an atomic; nothing else changes after init.
  private let acting: Acting
  /// Whether the operator has several upstreams.
  private let isJoin: Bool
  /// Converts an error of the upstream to an error of this task; `nil` if the types are
  /// the same.
  private let convert: ((any Error) -> any Error)?
  /// Settles the operator like the task that its closure has made.
  private let take: (@Sendable (AnyFuture, AnyFuture) -> Void)?
  /// The attempts of a `retry`.
  let attempts: Attempts<Output, Failure>?
  /// The progress of `firstOf`; other operators do not use it.
  private let highestProgress = HighestProgress()

  @usableFromInline
  init(
    _ acting: Acting, isJoin: Bool = false, convert: ((any Error) -> any Error)? = nil,
    take: (@Sendable (AnyFuture, AnyFuture) -> Void)? = nil,
    attempts: Attempts<Output, Failure>? = nil
  ) {
    self.acting = acting
    self.isJoin = isJoin
    self.convert = convert
    // Called where the inner task or a wait has settled.
    self.take = take.map { CarriedTaskLocals.bind($0) }
    self.attempts = attempts
  }

  override func taskHasSettled(_ task: AnyFuture) { attempts?.end() }
  override var isOperator: Bool { true }
  override var hasUpstream: Bool { !isJoin }
  override func acts(on outcome: Outcome) -> Bool {
    switch outcome {
    case .success: acting.contains(.success)
    case .failure: acting.contains(.failure)
    case .cancelled: acting.contains(.cancellation)
    }
  }

  override func progressParts(of task: AnyFuture) -> ProgressParts? {
    // As for `mapToFuture`: the source is one half of the work, and the inner task the other.
    let isInHalves = !isJoin && acting.isSuperset(of: [.success, .following])
    if let inner = task.innerFuture {
      return isInHalves ? ProgressParts(secondHalf: inner) : ProgressParts([inner])
    }
    guard isJoin else {
      guard let upstream = task.upstreamFuture else { return nil }
      return isInHalves ? ProgressParts(firstHalf: upstream) : ProgressParts([upstream])
    }
    let (sources, isRace) = state.withLock { ($0.extras?.sources ?? [], $0.isRace) }
    return isRace
      ? ProgressParts(furthest: 1, of: sources, mark: self) : ProgressParts(meanOf: sources)
  }

  @usableFromInline
  package func raiseProgress(to progress: Double) -> Double { highestProgress.raise(to: progress) }

  override func pass(_ task: AnyFuture, _ source: AnyFuture) {
    guard let error = source.anyError, let convert else {
      task.settle(like: source, from: .upstream)
      return
    }
    let own = convert(error)
    task.settle(source.outcome, from: .upstream) { task.storeError(own) }
  }

  override func innerHasSettled(_ task: AnyFuture, _ source: AnyFuture) {
    guard let take else {
      task.settle(like: source, from: .upstream)
      return
    }
    // It may call a closure of the user.
    let work = Work { task, source in take(task, source) }
    WorkLoop.current.runInline(.handler(of: task, reading: source, work))
  }

  func follow(_ inner: AnyFuture, _ task: AnyFuture) {
    guard inner !== task else {
      fail(task, ProducerTaskError.cycle(path: [task.taskName, task.taskName]), from: .outside)
      return
    }
    let home = home
    guard task.waitInstead(for: SettlementWaiter(task, for: inner, as: .inner)) else {
      // Cancelled while its closure ran: the task that the closure made is not wanted, unless
      // another operator or the user wants it too.
      let core = inner.taskCore
      if core.map({ $0.phase == .created }) ?? true, !inner.isWanted,
        core?.isStillWanted(inner, without: task) != true
      {
        inner.cancel()
      }
      return
    }
    if inner.taskCore?.phase == .created {
      if let home {
        home.add(inner, implicitly: true, at: .besides(self))
      } else {
        // Nothing tells which queue has the operator.
        if let (producer, _) = inner.taskCore?.unqueuedProducer {
          TaskQueue().add(producer, implicitly: true)
        }
        Promises.defaultOperationQueue.addUnlessFinished(inner)
      }
    }
    // After both are enqueued: the search for cycles skips tasks that are not.
    failIfCircular(task, waitingFor: inner)
    // Only now: a watch walks upstream, and would never leave a cycle.
    task.wakeProgressWatches()
  }
}

extension ProducerTask {
  /// Makes an operator downstream of this task.
  ///
  /// - Parameters:
  ///   - label: The name of the operator.
  ///   - acting: The outcomes that the closure acts on; the others pass through.
  ///   - convert: Converts this task's error to the operator's type; needed if the types
  ///     differ.
  ///   - take: Settles the operator like a task that the closure has made; needed if
  ///     their types differ.
  ///   - work: Settles the operator, or lets it follow another task.
  @inlinable @inline(__always)
  final func stage<NewOutput: Sendable, NewFailure: Error>(
    _ label: StaticString, _ acting: Acting, convert: ((any Error) -> any Error)? = nil,
    take: (@Sendable (AnyFuture, AnyFuture) -> Void)? = nil,
    _ work:
      @escaping @Sendable (
        OperatorTask<NewOutput, NewFailure>, ProducerTask<Output, Failure>
      ) -> Void
  ) -> ProducerTask<NewOutput, NewFailure> {
    OperatorTask(
      label, below: self, core: OperatorCore(acting, convert: convert, take: take),
      work: Work { task, source in
        work(
          unsafeDowncast(task, to: OperatorTask<NewOutput, NewFailure>.self),
          unsafeDowncast(source, to: ProducerTask<Output, Failure>.self))
      })
  }
}

/// Converts errors of other tasks to errors with a type of failure.
func converting<Failure: Error>(to type: Failure.Type) -> (any Error) -> any Error {
  { error in ProducerTaskProtocolError<Failure>(of: error) }
}

/// Settles an operator like the task that its closure has made, if that task has another
/// type of failure.
func following<Output: Sendable, Failure: Error, NewFailure: Error>(
  _ inner: ProducerTask<Output, Failure>.Type, as type: NewFailure.Type
) -> @Sendable (AnyFuture, AnyFuture) -> Void {
  { task, inner in
    unsafeDowncast(task, to: OperatorTask<Output, NewFailure>.self).settle(
      unsafeDowncast(inner, to: ProducerTask<Output, Failure>.self)
        .settledProduced(as: NewFailure.self), from: .upstream)
  }
}

extension ProducerTask {
  /// The result of the settled task, with another type of failure.
  final func settledProduced<NewFailure: Error>(
    as type: NewFailure.Type
  ) -> Result<Output, ProducerTaskProtocolError<NewFailure>> {
    settledProduced.mapError { $0.converted() }
  }
}
