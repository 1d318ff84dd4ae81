import ExampleSupport
import Foundation
import TestSupport
import Testing

@testable import DuplicateFinder

/// How findings are told.
@Suite("Report", .timeLimit(.minutes(5)), .oneAtATime)
struct ReportTests {
  struct Document: Decodable, Equatable {
    struct Group: Decodable, Equatable {
      let size: Int, wastedBytes: Int, paths: [String], hardLinks: [[String]]
    }
    struct Totals: Decodable, Equatable {
      let files: Int, emptyFiles: Int, groups: Int, duplicateFiles: Int, wastedBytes: Int
    }
    struct Problem: Decodable, Equatable { let path: String, kind: String, message: String }
    let complete: Bool
    let groups: [Group]
    let totals: Totals
    let problems: [Problem]
  }

  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["b\"\n", "a", "c"] { try folder.write("same", to: name) }
    try folder.makeHardLink("link", to: "a")
    try folder.write("", to: "empty")
  }

  @Test("JSON has groups, totals and problems, in a stable order")
  func json() async throws {
    let report = try await search([folder.path("missing"), folder.path])
    let document = try JSONDecoder().decode(Document.self, from: Data(report.json.utf8))
    let path = { (name: String) in folder.path(name).text }
    #expect(
      document
        == Document(
          complete: true,
          groups: [
            .init(
              size: 4, wastedBytes: 8, paths: [path("a"), path("b\"\n"), path("c")],
              hardLinks: [[path("a"), path("link")]])
          ],
          totals: .init(files: 5, emptyFiles: 1, groups: 1, duplicateFiles: 2, wastedBytes: 8),
          problems: [
            .init(path: path("missing"), kind: "unreadable", message: "No such file or directory")
          ]))
    #expect(try await search([folder.path("missing"), folder.path]).json == report.json)
  }

  @Test("Text has the waste, the names and a summary, and no name breaks a line")
  func text() async throws {
    let report = try await search(folder)
    #expect(
      report.text == """
        8 bytes wasted: 3 files of 4 bytes
          \(folder.path.text)/a
            = \(folder.path.text)/link
          \(folder.path.text)/b"\\x0A
          \(folder.path.text)/c

        1 group of equal files, 8 bytes wasted; 5 files found, 1 of them empty.

        """)
    #expect(report.complaints.isEmpty)
  }

  @Test(
    "Sizes are told in the unit that suits them",
    arguments: zip(
      [0, 1023, 1024, 1536, 1 << 20, 5 << 30, .max] as [Int64],
      ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 KiB", "1.0 MiB", "5.0 GiB", "8.0 EiB"]))
  func sizes(size: Int64, text: String) { #expect(size.asSize == text) }

  @Test("The progress line fits in a terminal")
  func progress() {
    var soFar = Findings.Snapshot()
    soFar.files = 12_345_678
    #expect(ProgressLine.text(for: soFar) == "Scanning: 12345678 files")
    soFar.candidates = 1_000_000
    soFar.candidatesCompared = 999_999
    soFar.bytesRead = .max
    #expect(ProgressLine.text(for: soFar).count < 80)
  }
}
