import ExampleSupport
import Foundation
import Properations
import TestSupport
import Testing

@testable import DuplicateFinder

/// Cancelling a search.
@Suite("Cancellation", .timeLimit(.minutes(5)), .oneAtATime)
struct CancellationTests {
  let folder: TemporaryFolder
  let scope = CancellationScope()

  init() throws { folder = try TemporaryFolder() }

  @Test("A search is cancelled in the middle of large files, and keeps what it has found")
  func whileReading() async throws {
    try folder.makeSparseFile("large1", size: 1 << 40)
    try folder.makeSparseFile("large2", size: 1 << 40)
    for name in ["small1", "small2"] { try folder.write("same", to: name) }
    let search = DuplicateSearch(try Options([folder.path]), scope: scope)
    let future = search.start()
    while search.findings.soFar.bytesRead == 0 || search.findings.soFar.groups.isEmpty {
      try await Task.sleep(for: .milliseconds(1))
    }
    scope.cancel()
    #expect(await future.completion.failureValue as? ProperationsError == .cancelled)
    let report = Report(of: search.findings.soFar, isComplete: false)
    #expect(report.names(in: folder) == [["small1", "small2"]])
    #expect(report.exitCode == .interrupted)
    #expect(report.text.contains("Interrupted."))
  }

  @Test("A search in a cancelled scope finds nothing")
  func before() async throws {
    try folder.write("same", to: "a")
    scope.cancel()
    let search = DuplicateSearch(try Options([folder.path]), scope: scope)
    #expect(await search.start().completion.failureValue as? ProperationsError == .cancelled)
    #expect(search.findings.soFar.groups.isEmpty)
  }

  @Test("A closure that reads a file stops reading when the scope is cancelled")
  func stopsReading() throws {
    for name in ["a", "b"] { try folder.write("same", to: name) }
    let findings = Findings()
    let reader = ContentReader(until: scope, findings: findings)
    let (a, b) = (try folder.file("a"), try folder.file("b"))
    #expect(try reader.isEqual(a, b))
    let bytesRead = findings.soFar.bytesRead
    scope.cancel()
    #expect(throws: ProperationsError.cancelled) { try reader.isEqual(a, b) }
    #expect(throws: ProperationsError.cancelled) { try reader.digest(of: a, 4) }
    #expect(findings.soFar.bytesRead == bytesRead)
  }

  @Test("A long folder is not read to its end when the scope is cancelled")
  func whileScanning() throws {
    for index in 0..<600 { try folder.write("", to: "f\(index)") }
    scope.cancel()
    let listing = try Folder(path: folder.path, id: FileStatus(of: folder.path).id)
      .list(except: { _ in false }, until: scope)
    #expect(listing.files.count < 600)
  }

  @Test("Large equal files are compared piece by piece, and not to the end of the one at hand")
  func stopsBetweenPieces() async throws {
    for name in ["a", "b"] { try folder.makeSparseFile(name, size: 1 << 40) }
    let findings = Findings()
    let reader = ContentReader(until: scope, findings: findings)
    let (a, b) = (try folder.file("a"), try folder.file("b"))
    let comparison = Promises.run(on: .global()) { try reader.isEqual(a, b) }
    while findings.soFar.bytesRead == 0 { try await Task.sleep(for: .milliseconds(1)) }
    scope.cancel()
    #expect(await comparison.completion.failureValue as? ProperationsError == .cancelled)
    #expect(findings.soFar.bytesRead < 1 << 40)
  }

  @Test("The beginning of a file is not read when the scope is cancelled")
  func stopsReadingBeginnings() throws {
    try folder.write("same", to: "a")
    let findings = Findings()
    let reader = ContentReader(until: scope, findings: findings)
    scope.cancel()
    #expect(throws: ProperationsError.cancelled) {
      try reader.beginning(of: folder.file("a"), 4)
    }
    #expect(findings.soFar.bytesRead == 0)
  }
}
