import Foundation
import Futures
import TestSupport
import Testing

@Suite("Nested errors", .timeLimit(.minutes(5)), .oneAtATime)
struct NestedErrorsTests {
  /// Fails; each level has the one before at position 0.
  private static func folded(_ depth: Int, rethrowing: Bool = false) -> Future<Int> {
    var all = failing(0)
    // (The thread sanitizer takes ten times as long.)
    #if PROPERATIONS_THREAD_SANITIZER
      let depth = depth > 1_000 ? depth / 10 : depth
    #endif
    for level in 1...depth {
      all = Promises.combine(all, failing(level)).mapToValue(on: .inline) { _, last in last }
      if rethrowing { all = all.mapError(on: .inline) { $0 } }
    }
    return all
  }

  private static func failing(_ number: Int) -> Future<Int> {
    Promises.makeFailed(with: TestError.numbered(number))
  }

  private static func error(_ depth: Int, rethrowing: Bool = false) throws -> ProperationsError {
    try #require(folded(depth, rethrowing: rethrowing).result?.failureValue as? ProperationsError)
  }

  /// The error inside, if it is in an object.
  private static func unwrapped(_ error: (any Error)?) -> (any Error)? {
    (error as? NestedErrors)?.error ?? error
  }

  @Test func `200 levels keep every error at its position`() throws {
    var current: (any Error)? = try Self.error(200)
    for level in (1...200).reversed() {
      guard case ProperationsError.multipleErrors(let errors)? = Self.unwrapped(current) else {
        Issue.record("level \(level)")
        return
      }
      #expect(errors.count == 2)
      #expect(errors[1] as? TestError == .numbered(level))
      current = errors[0]
    }
    #expect(current as? TestError == .numbered(0))
  }

  @Test func `40 levels are in no object`() throws {
    var current: (any Error)? = try Self.error(40)
    for _ in 0..<40 {
      guard case ProperationsError.multipleErrors(let errors)? = current else {
        Issue.record("\(String(describing: current))")
        return
      }
      current = errors[0]
    }
    #expect(current is TestError)
  }

  @Test func `a combination of one failure with itself, 100 times over, is compared and described`()
    async throws
  {
    func doubled() throws -> ProperationsError {
      var all = Self.failing(0)
      for _ in 0..<100 { all = Promises.combine(all, all).mapToValue(on: .inline) { $0.0 } }
      return try #require(all.result?.failureValue as? ProperationsError)
    }
    let (error, same) = (try doubled(), try doubled())
    #expect(error == same)
    #expect("\(error)".utf8.count < 1_000_000)
    #expect(error.localizedDescription.contains("numbered(0)"))
  }

  @Test func `a failed alternative against itself, 100 times over, is read and described`() throws {
    func doubled() throws -> ProperationsError {
      var row = Self.failing(0) || Self.failing(1)
      for _ in 0..<100 { row = row || row }
      return try #require(row.result?.failureValue as? ProperationsError)
    }
    let error = try doubled()
    guard case ProperationsError.multipleErrors(let errors) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(errors.prefix(2).map { $0 as? TestError } == [.numbered(0), .numbered(1)])
    #expect(errors.count == 102 && errors.dropFirst(2).allSatisfy { $0 is NestedErrors })
    let first = try #require(Self.unwrapped(errors[2]) as? ProperationsError)
    #expect(first == .multipleErrors([TestError.numbered(0), TestError.numbered(1)]))
    #expect(error == (try doubled()))
    #expect(error.localizedDescription.contains("numbered(0)"))
  }

  @Test func `alternatives that fail with a long row have the errors of the row side by side`() {
    let row = (Self.failing(0) || Self.failing(1)) || Self.failing(2)
    let failed = row.mapToVoid().mapToValue(on: .inline) { 1 } || (row || Self.failing(3))
    let other = Promises.collect([row, row]).mapToValue(on: .inline) { $0[0] } || row
    guard case ProperationsError.multipleErrors(let errors)? = failed.result?.failureValue,
      case ProperationsError.multipleErrors(let others)? = other.result?.failureValue
    else {
      Issue.record("\(failed), \(other)")
      return
    }
    #expect(errors.prefix(3).map { $0 as? TestError } == (0..<3).map { .numbered($0) })
    #expect(
      Self.unwrapped(errors[3]) as? ProperationsError == row.result?.failureValue
        as? ProperationsError)
    #expect(errors[4] as? TestError == .numbered(3))
    #expect(others.count == 4 && others[0] is ProperationsError)
  }

  @Test func `wide failures inside failures are in no object`() throws {
    let inner = (0..<100).map { _ in Promises.collect((0..<100).map(Self.failing)) }
    let error = Promises.collect(inner).result?.failureValue
    guard case ProperationsError.multipleErrors(let errors)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(errors.allSatisfy { $0 is ProperationsError })
  }
}
