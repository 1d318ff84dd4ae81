import Foundation

// Forms that newcomers often write first. All of them are unavailable; see
// `Future+OtherForms.swift`.

extension Promises {
  // MARK: No type

  /// Unavailable: the type of the promised value is missing.
  @available(*, unavailable, message: "Say what it promises: 'make(promising: Int.self)'.")
  public static func make() -> Promise<Never> { cannotBeCalled() }

  /// Unavailable: the type of the promised value is missing.
  @available(
    *, unavailable,
    message: "Say which value it would have had: 'makeFailed(with: error, promising: Int.self)'."
  )
  public static func makeFailed(with error: any Error) -> Future<Never> {
    makeFailed(with: error, promising: Never.self)
  }

  // MARK: Closures that await

  /// Unavailable: for a closure that awaits, use ``async(priority:fileID:line:_:)``.
  @available(*, unavailable, message: "The closure awaits: use 'Promises.async { ... }'.")
  public static func run<Success: Sendable>(
    on context: some ExecutionContext, _ body: @escaping @Sendable () async throws -> Success
  ) -> Future<Success> {
    async(body)
  }

  /// Unavailable: for a closure that awaits, use ``async(priority:fileID:line:_:)``.
  @available(*, unavailable, message: "The closure awaits: use 'Promises.async { ... }'.")
  public static func run<Success: Sendable>(
    _ body: @escaping @Sendable () async throws -> Success
  ) -> Future<Success> {
    async(body)
  }

  // MARK: Closures that return a future

  /// Unavailable: for a closure that returns a future, add ``Future/flatten(fileID:line:)``.
  @available(
    *, unavailable, message: "The closure returns a future: add '.flatten()', which waits for it."
  )
  public static func run<Success: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable () throws -> Future<Success>
  ) -> Future<Success> { cannotBeCalled() }

  /// Unavailable: for a closure that returns a future, add ``Future/flatten(fileID:line:)``.
  @available(
    *, unavailable, message: "The closure returns a future: add '.flatten()', which waits for it."
  )
  public static func run<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor () throws -> Future<Success>
  ) -> Future<Success> { cannotBeCalled() }

  // MARK: Functions that are easily confused

  /// Unavailable: for the futures of a collection, use
  /// ``collect(_:failingFast:fileID:line:)``.
  @available(*, unavailable, message: "For the futures of a collection use 'collect'.")
  public static func combine<Futures: Sequence, Success: Sendable>(
    _ futures: Futures
  ) -> Future<[Success]> where Futures.Element: Future<Success> {
    collect(futures)
  }

  /// Unavailable: for separate futures, use ``combine(_:fileID:line:)``.
  @available(
    *, unavailable, message: "For futures one by one use 'combine'; 'collect' takes an array."
  )
  public static func collect<each Success: Sendable>(
    _ futures: repeat Future<each Success>
  ) -> Future<(repeat each Success)> {
    combine(repeat each futures)
  }

  /// Unavailable: for futures of different types, use ``combine(_:fileID:line:)``.
  @available(*, unavailable, message: "For futures of different types use 'combine(a, b)'.")
  public static func collect(_ futures: [AnyFuture]) -> Future<[any Sendable]> { cannotBeCalled() }

  /// Unavailable: a race takes the futures of a collection.
  @available(*, unavailable, message: "Put the futures in an array: 'race([a, b])'.")
  public static func race<Success: Sendable>(
    _ first: Future<Success>, _ others: Future<Success>...
  ) -> Future<Success> {
    race([first] + others)
  }

  // MARK: Bare numbers

  /// Unavailable: a number of attempts needs the label `attempts`.
  @available(*, unavailable, message: "Say what the number counts: 'retry(attempts: 3)'.")
  public static func retry<Success: Sendable>(
    _ attempts: Int, _ makeFuture: @escaping @MainActor (Int) throws -> Future<Success>
  ) -> Future<Success> {
    retry(RetryPolicy(attempts: attempts), makeFuture)
  }

  /// Unavailable: a time needs a unit.
  @available(*, unavailable, message: "Say the unit of the time: 'delay(for: .seconds(5))'.")
  public static func delay(for seconds: TimeInterval) -> Future<Void> {
    delay(for: .seconds(seconds))
  }
}
