/// The result of one turn of a loop: continue, or end with a value.
public enum LoopStep<State: Sendable, Success: Sendable>: Sendable {
  /// The loop makes another turn, which gets this state.
  case next(State)
  /// The loop ends and succeeds with this value.
  case done(Success)
}

extension Promises {
  /// Repeats asynchronous work until a turn ends the loop with a value.
  ///
  /// ```swift
  /// let total = Promises.loop(Cursor.start, on: .global()) { cursor in
  ///   fetchPage(at: cursor).mapToValue(on: .inline) { page in
  ///     page.next.map { .next($0) } ?? .done(page.total)
  ///   }
  /// }
  /// ```
  ///
  /// One turn runs at a time. Any number of turns needs the memory and the stack of one. If
  /// a turn fails, or its closure throws, the loop fails with that error. Cancelling the
  /// loop asks the pending turn to cancel, and no further turn starts. (If another thread is
  /// passing from one turn to the next at that moment, turns may start until it goes on.)
  ///
  /// A loop `on: .inline` whose turns return settled futures runs to its end inside this
  /// call. On any other context, it can be cancelled between turns.
  ///
  /// - Parameters:
  ///   - initial: The state that the first turn gets.
  ///   - context: Where the closure runs.
  ///   - turn: Gets the state, and returns a future of the next step.
  /// - Returns: A future of the value that ends the loop.
  public static func loop<State: Sendable, Success: Sendable>(
    _ initial: State, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ turn: @escaping @Sendable (State) throws -> Future<LoopStep<State, Success>>
  ) -> Future<Success> {
    loop(initial, turns: nil, on: ContextReference(context), at: Birthplace(fileID, line), turn)
  }

  /// Repeats asynchronous work.
  ///
  /// - Parameter turns: The largest number of turns, if it is known. Only for progress.
  static func loop<State: Sendable, Success: Sendable>(
    _ initial: State, turns: Int?, on context: ContextReference, at birthplace: Birthplace,
    _ turn: @escaping @Sendable (State) throws -> Future<LoopStep<State, Success>>
  ) -> Future<Success> {
    @Sendable func run(_ state: State, _ number: LoopTurn) -> Future<Success> {
      let future: Future<Success> = Future.started(on: context, at: birthplace) {
        try turn(state)
      }.flattened(.actsOnSuccess, on: .inline, at: birthplace) { step in
        switch try step.get() {
        case .next(let state): return run(state, number.next)
        case .done(let value):
          let end = Future<Success>(traits: [], at: birthplace)
          end.settle(success: value)
          return end
        }
      }
      if number.isTelling, !future.isSettled { future.storage.noteTurn(number) }
      return future
    }
    return run(initial, LoopTurn(total: turns))
  }

  /// Repeats asynchronous work until a turn ends the loop with a value.
  ///
  /// The closure runs on the main queue. See ``loop(_:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - initial: The state that the first turn gets.
  ///   - turn: Gets the state, and returns a future of the next step.
  /// - Returns: A future of the value that ends the loop.
  public static func loop<State: Sendable, Success: Sendable>(
    _ initial: State, fileID: StaticString = #fileID, line: UInt = #line,
    _ turn: @escaping @MainActor (State) throws -> Future<LoopStep<State, Success>>
  ) -> Future<Success> {
    loop(initial, on: .main, fileID: fileID, line: line, onMain(turn))
  }
}
