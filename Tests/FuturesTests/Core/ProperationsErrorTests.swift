import Foundation
import Futures
import TestSupport
import Testing

@Suite("ProperationsError", .timeLimit(.minutes(5)), .oneAtATime)
struct ProperationsErrorTests {
  static let site = CreationSite(fileID: "App/Fetch.swift", line: 12, valueType: "Int")

  static let all: [ProperationsError] = [
    .cancelled, .compactMapReturnedNil, .ensureFailed,
    .multipleErrors([nil, TestError.first]), .brokenPromise(createdAt: site),
    .timedOut(after: .seconds(3)), .noFutures, .blockingOnMainQueue,
    .wouldDeadlock(queue: "the main queue"), .cycle(createdAt: site),
    .alreadyEnqueued(createdAt: site), .neitherValueNorError(createdAt: site),
  ]

  @Test(arguments: all)
  func `an error describes itself in whole sentences that say what to do`(
    _ error: ProperationsError
  ) throws {
    let text = try #require(error.errorDescription)
    #expect(text.hasSuffix(".") || text.contains("First error: "))
    #expect(text.split(separator: ". ").count >= 2)
    #expect(error.localizedDescription == text)
    #expect((error as any Error).localizedDescription == text)
  }

  @Test(arguments: all.enumerated().map { $0 })
  func `an error equals itself and no other`(_ index: Int, _ error: ProperationsError) {
    for (other, candidate) in Self.all.enumerated() {
      #expect((error == candidate) == (index == other))
    }
  }

  @Test func `an error that carries a place names it`() {
    for error in [
      ProperationsError.brokenPromise(createdAt: Self.site), .cycle(createdAt: Self.site),
      .alreadyEnqueued(createdAt: Self.site), .neitherValueNorError(createdAt: Self.site),
    ] {
      #expect(error.localizedDescription.contains("Future<Int> created at App/Fetch.swift:12"))
    }
  }

  @Test func `a deadlock error names the queue, a timeout the time`() {
    #expect(
      ProperationsError.wouldDeadlock(queue: "the queue Q").localizedDescription
        .contains("the queue Q"))
    #expect(ProperationsError.timedOut(after: .seconds(3)).localizedDescription.contains("3.0"))
  }

  @Test func `multiple errors count the failures and describe the first`() {
    let error = ProperationsError.multipleErrors([nil, TestError.second, TestError.first])
    #expect(error.localizedDescription.contains("2 of 3"))
    #expect(error.localizedDescription.contains("second"))
  }

  @Test func `multiple errors contain the message of the first, if it has one`() {
    let error = ProperationsError.multipleErrors([nil, Offline(), TestError.first])
    #expect(error.localizedDescription.hasSuffix("First error: The server cannot be reached."))
  }

  private struct Offline: LocalizedError {
    var errorDescription: String? { "The server cannot be reached." }
  }

  @Test func `multiple errors are equal if the same positions failed alike`() {
    typealias E = ProperationsError
    #expect(E.multipleErrors([nil, TestError.first]) == .multipleErrors([nil, TestError.first]))
    #expect(E.multipleErrors([nil, TestError.first]) != .multipleErrors([TestError.first, nil]))
    #expect(E.multipleErrors([TestError.first]) != .multipleErrors([TestError.second]))
    #expect(E.multipleErrors([TestError.first]) != .multipleErrors([TestError.first, nil]))
    #expect(E.multipleErrors([E.cancelled]) == .multipleErrors([E.cancelled]))
    #expect(E.multipleErrors([E.cancelled]) != .multipleErrors([E.ensureFailed]))
    #expect(E.multipleErrors([E.cancelled]) != .multipleErrors([CocoaError(.userCancelled)]))
    #expect(
      E.multipleErrors([E.timedOut(after: .seconds(1))])
        != .multipleErrors([E.timedOut(after: .seconds(2))]))
  }

  @Test func `multiple errors inside multiple errors describe the first of them`() {
    let error = ProperationsError.multipleErrors([
      ProperationsError.multipleErrors([TestError.first, nil]), nil,
    ])
    #expect(error.localizedDescription.contains("first"))
  }
}
