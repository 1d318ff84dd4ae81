import Synchronization

/// The task-local values that travel with the closures of futures.
///
/// An application registers its task-locals. From then on a closure keeps the values that
/// they had where it was attached, and has them again where it runs.
@usableFromInline
package struct CarriedTaskLocals: Sendable {
  /// The value of one task-local.
  private struct Value: Sendable {
    /// Runs a closure with the value.
    let run: @Sendable (_ body: () -> Void) -> Void
  }

  /// Reads the value of one task-local.
  private struct Source: Sendable {
    let id: ObjectIdentifier
    let read: @Sendable () -> Value
  }

  /// Whether any task-local is registered; what every link reads.
  // The standard library's type: for the explorer of thread schedules it is no point at which
  // the order matters.
  private static let areRegistered = Synchronization.Atomic<Bool>(false)
  private static let sources = Lock<[Source]>([])

  private let values: [Value]

  static func register<Local: Sendable>(_ local: TaskLocal<Local>) {
    let source = Source(id: ObjectIdentifier(local)) {
      let value = local.get()
      return Value { body in local.withValue(value, operation: body) }
    }
    sources.withLock { sources in
      if !sources.contains(where: { $0.id == source.id }) { sources.append(source) }
    }
    areRegistered.store(true, ordering: .releasing)
  }

  /// The values here and now; `nil` if no task-local is registered.
  @inline(__always)
  package static var current: CarriedTaskLocals? {
    areRegistered.load(ordering: .acquiring) ? read() : nil
  }

  private static func read() -> CarriedTaskLocals {
    // Reading a value calls no user code, but the lock guards only the list.
    CarriedTaskLocals(values: sources.withLock { $0 }.map { $0.read() })
  }

  /// Runs a closure with the values.
  package func run<Output>(_ body: () -> Output) -> Output {
    var output: Output?
    withoutActuallyEscaping({ output = body() }) { body in run(body, from: 0) }
    return output!
  }

  private func run(_ body: () -> Void, from index: Int) {
    if index == values.count { return body() }
    values[index].run { run(body, from: index + 1) }
  }

  /// Makes a closure run with the values that the task-locals have now.
  @usableFromInline
  package static func bind(
    _ body: @escaping @Sendable (AnyFuture, AnyFuture) -> Void
  ) -> @Sendable (AnyFuture, AnyFuture) -> Void {
    guard let values = current else { return body }
    return { future, source in values.run { body(future, source) } }
  }

  /// Makes a closure run with the values that the task-locals have now.
  package static func bind(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    guard let values = current else { return body }
    return { values.run(body) }
  }
}

extension CarriedTaskLocals {
  /// Makes a closure run with the values that the task-locals have now.
  ///
  /// For closures that are called where no closure of a future runs.
  package static func bind<Input, Output>(
    _ body: @escaping @Sendable (Input) throws -> Output
  ) -> @Sendable (Input) throws -> Output {
    guard let values = current else { return body }
    return { input in try values.run { Result { try body(input) } }.get() }
  }

  /// The same for a closure that throws nothing.
  package static func bind<Input>(
    _ body: @escaping @Sendable (Input) -> Void
  ) -> @Sendable (Input) -> Void {
    guard let values = current else { return body }
    return { input in values.run { body(input) } }
  }
}

extension Promises {
  /// Makes task-local values travel with the closures of futures.
  ///
  /// Swift carries task-local values into child tasks, and no further: a closure that a queue
  /// or a timer calls has lost them. Call this method once, when the application starts, for
  /// each task-local that closures need.
  ///
  /// ```swift
  /// enum Tracing {
  ///   @TaskLocal static var span = "none"
  /// }
  /// ```
  ///
  /// ```swift
  /// Promises.carry(Tracing.$span)
  ///
  /// let name = Tracing.$span.withValue("request 7") {
  ///   user.mapToValue(on: queue) { user in "\(user) of \(Tracing.span)" }
  /// }
  /// ```
  ///
  /// A closure has the values of the place where it was attached, not those of the place
  /// where the future upstream was settled. This holds for the closures of all combinators
  /// and factories of futures, of each attempt and round that they make, for
  /// ``Promise/onCancellationRequest(_:)``, and for the blocks and operators of typed tasks,
  /// which have the values of the place where the task was made. The closure of a
  /// ``Batcher`` has those of the place where the batcher was made. It does not hold for
  /// methods that subclasses of tasks override, for the closures of conditions and workflows,
  /// and for the `deinit` of what closures capture. The closures of
  /// ``async(priority:fileID:line:_:)`` and `queue.run` have all task-local values without
  /// this call.
  ///
  /// Carrying lasts as long as the process. Registering a task-local twice changes nothing.
  /// Closures that were attached before are not affected. While nothing is registered, a
  /// link costs one load more; each registered task-local costs a closure one allocation and
  /// about as much time as a link.
  ///
  /// - Parameter locals: The task-locals; write `$` before their names.
  public static func carry<each Value: Sendable>(_ locals: repeat TaskLocal<each Value>) {
    repeat CarriedTaskLocals.register(each locals)
  }
}
