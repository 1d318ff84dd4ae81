import Foundation
import Futures

/// One of the schedules under which ``explore(seeds:fileID:line:isolation:_:)`` runs a test.
///
/// A seed decides the order in which the closures of the context run, and all numbers of the
/// generator. The same seed gives the same test if every closure of the test runs in the
/// context or inline, and every choice uses the generator. Swift tasks, timers and other
/// contexts have an order of their own, which no seed repeats.
public final class SeededSchedule: Sendable {
  /// The number that decides the schedule.
  public let seed: UInt64

  /// The context for the closures whose order the seed decides.
  public let context = ManualContext()

  private let generator: Lock<SeededGenerator>

  /// Makes the schedule of a seed.
  ///
  /// - Parameter seed: Any number.
  public init(seed: UInt64) {
    self.seed = seed
    generator = Lock(SeededGenerator(seed: seed))
  }

  /// Returns a number that the seed decides.
  ///
  /// - Parameter range: The range of the number.
  public func random(in range: ClosedRange<Int>) -> Int {
    generator.withLock { Int.random(in: range, using: &$0) }
  }

  /// Runs one of the waiting closures, which the seed picks.
  ///
  /// - Returns: `false` if none waits.
  @discardableResult
  public func runOne() -> Bool {
    // The closure may call the schedule, so it runs outside the lock.
    var choice = SeededGenerator(seed: generator.withLock { $0.next() })
    return context.runOne(using: &choice)
  }

  /// Runs waiting closures in an order that the seed picks, until none is left.
  ///
  /// Closures that come meanwhile run too.
  ///
  /// - Parameter limit: The greatest number of times to run one. Set it for code that may
  ///   add closures for ever.
  /// - Returns: How many times one was run.
  @discardableResult
  public func runAll(limit: Int = .max) -> Int {
    var count = 0
    while count < limit, runOne() { count += 1 }
    return count
  }

  /// Fails the schedule unless a condition holds.
  ///
  /// `#require` and `XCTUnwrap` do the same. A failure that does not throw, as those of
  /// `#expect` and `XCTAssert`, does not end the exploration, and does not name the seed.
  ///
  /// - Parameters:
  ///   - condition: What must hold.
  ///   - message: What is wrong if it does not.
  /// - Throws: ``UnmetRequirement`` if the condition does not hold.
  public func require(
    _ condition: Bool, _ message: @autoclosure () -> String = "A requirement does not hold.",
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws {
    if !condition { throw UnmetRequirement(message: message(), place: "\(fileID):\(line)") }
  }
}

/// The failure of ``SeededSchedule/require(_:_:fileID:line:)``.
public struct UnmetRequirement: LocalizedError, CustomStringConvertible, Sendable {
  /// What is wrong.
  public let message: String

  /// The file and the line of the requirement.
  public let place: String

  /// The place and the message.
  public var description: String { "\(place): \(message)" }

  /// The same sentence.
  public var errorDescription: String? { description }
}

/// The failure of ``explore(seeds:fileID:line:isolation:_:)``.
public enum ExplorationError: LocalizedError, CustomStringConvertible, Sendable {
  /// The test threw an error under the schedule of a seed; the place is that of the call.
  case failed(seed: UInt64, any Error, place: String)

  /// The collection of seeds is empty, so nothing was tested.
  case noSeeds(place: String)

  /// The environment variable `FUTURES_SEED` holds no seed.
  case invalidSeed(String)

  /// A sentence that says how to run the failed schedule again, or what to correct.
  public var description: String {
    switch self {
    case .failed(let seed, let error, let place):
      """
      \(place): The schedule of seed \(seed) failed: \(error)
      To run it alone, set FUTURES_SEED=\(seed) in the environment, or write \
      explore(seeds: [\(seed)]).
      """
    case .noSeeds(let place):
      "\(place): There are no seeds, so nothing was tested. Give one or more."
    case .invalidSeed(let text):
      "FUTURES_SEED is '\(text)'. Set it to a whole number from 0 to \(UInt64.max), or unset it."
    }
  }

  /// The same text.
  public var errorDescription: String? { description }
}

/// Runs a test under many schedules; the first failure ends the run and names its seed.
///
/// The test runs its closures in the context of the schedule, and tells the schedule when
/// to run them:
///
/// ```swift
/// try await explore(seeds: 0..<500) { schedule in
///   let promise = Promises.make(promising: Int.self)
///   let first = promise.mapToValue(on: schedule.context) { $0 + 1 }
///   let second = promise.mapToValue(on: schedule.context) { $0 * 2 }
///   let both = Promises.combine(first, second)
///   promise.succeed(with: 20)
///   schedule.runAll()
///   let (sum, product) = try expectSettled(both).get()
///   try schedule.require(sum == 21 && product == 40)
/// }
/// ```
///
/// A failure must throw: use `#require`, ``SeededSchedule/require(_:_:fileID:line:)`` or
/// ``expectSettled(_:fileID:line:)``. The environment variable `FUTURES_SEED` replaces the
/// seeds of every exploration by one seed. Select the failed test with `--filter` then.
///
/// After each run, the closures that still wait in the context are released unrun. The runs
/// follow each other; none overlaps another one. The idea comes from the seeded simulation
/// of FoundationDB.
///
/// - Parameters:
///   - seeds: The seeds, as `0..<500`; an array of one runs that schedule alone. Endless
///     seeds run until a failure, or until the task is cancelled.
///   - isolation: Leave it out: the body runs where the caller runs.
///   - body: The test. It throws if the schedule has failed.
/// - Throws: ``ExplorationError``, or `CancellationError` if the task is cancelled.
public func explore(
  seeds: some Sequence<UInt64>, fileID: StaticString = #fileID, line: UInt = #line,
  isolation: isolated (any Actor)? = #isolation,
  _ body: (SeededSchedule) async throws -> Void
) async throws {
  try await explore(
    seeds: seeds, replaying: ProcessInfo.processInfo.environment["FUTURES_SEED"],
    at: "\(fileID):\(line)", isolation: isolation, body)
}

/// Runs a test under the schedules of some seeds, or of the one that is replayed.
package func explore(
  seeds: some Sequence<UInt64>, replaying replayed: String?, at place: String,
  isolation: isolated (any Actor)? = #isolation,
  _ body: (SeededSchedule) async throws -> Void
) async throws {
  if let replayed {
    guard let seed = UInt64(replayed) else { throw ExplorationError.invalidSeed(replayed) }
    return try await play(seed, at: place, isolation: isolation, body)
  }
  var isEmpty = true
  for seed in seeds {
    isEmpty = false
    try Task.checkCancellation()
    try await play(seed, at: place, isolation: isolation, body)
  }
  if isEmpty { throw ExplorationError.noSeeds(place: place) }
}

private func play(
  _ seed: UInt64, at place: String, isolation: isolated (any Actor)?,
  _ body: (SeededSchedule) async throws -> Void
) async throws {
  let schedule = SeededSchedule(seed: seed)
  defer { schedule.context.dropAll() }
  do {
    try await body(schedule)
  } catch let error as CancellationError where Task.isCancelled {
    throw error
  } catch {
    throw ExplorationError.failed(seed: seed, error, place: place)
  }
}
