import ExampleSupport
import Foundation
import TestSupport
import Testing

@testable import DuplicateFinder

/// The presentation of findings.
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

  @Test("The progress line fits in 40 columns, the cursor included, however much there is")
  func narrowProgress() {
    var soFar = Findings.Snapshot()
    soFar.files = 999_999_999
    var lines = [ProgressLine.text(for: soFar)]
    soFar.candidates = 1
    soFar.candidatesCompared = 1
    soFar.bytesRead = 1023 << 30
    soFar.groups = Array(repeating: DuplicateGroup(of: []), count: 1_000_000)
    lines.append(ProgressLine.text(for: soFar))
    soFar.filesToReplace = 99_999_999
    soFar.deeds = Deeds(action: .remove, isDryRun: false)
    lines.append(ProgressLine.text(for: soFar))
    #expect(
      lines == [
        "Scanning: 999999999 files", "100 %, 1023.0 GiB read, 1000000 groups",
        "Removed 0 of 99999999 files",
      ])
    #expect(lines.allSatisfy { $0.count < 40 })
  }

  @Test("The progress line tells one of anything in the singular")
  func singularProgress() {
    var soFar = Findings.Snapshot()
    soFar.files = 1
    var lines = [ProgressLine.text(for: soFar)]
    soFar.candidates = 2
    soFar.candidatesCompared = 1
    soFar.bytesRead = 1
    soFar.groups = [DuplicateGroup(of: [])]
    lines.append(ProgressLine.text(for: soFar))
    soFar.filesToReplace = 1
    soFar.deeds = Deeds(action: .hardLink, isDryRun: false)
    lines.append(ProgressLine.text(for: soFar))
    #expect(
      lines == ["Scanning: 1 file", "50 %, 1 byte read, 1 group", "Linked 0 of 1 file"])
  }

  @Test("One of anything is told in the singular")
  func singular() async throws {
    let one = try TemporaryFolder()
    for name in ["a", "b"] { try one.write("x", to: name) }
    let text = try await search(one).text
    #expect(text.hasPrefix("1 byte wasted: 2 files of 1 byte\n"))
    #expect(text.contains("1 group of equal files, 1 byte wasted; 2 files found"))
  }

  @Test("No two names are told alike, and each can be told from its text")
  func ambiguous() {
    let names: [[UInt8]] = [
      Array("x".utf8) + [0xFF], Array("x\\xFF".utf8), Array("x\\\\xFF".utf8), [0xC2, 0x85],
      [0x85], Array("\\xC2\\x85".utf8), Array("x\u{202E}".utf8), [0xE2, 0x80, 0xFF],
    ]
    let texts = names.map { "\(Path(bytes: $0))" }
    #expect(
      texts == [
        "x\\xFF", "x\\\\xFF", "x\\\\\\\\xFF", "\\xC2\\x85", "\\x85",
        "\\\\xC2\\\\x85", "x\\xE2\\x80\\xAE", "\\xE2\\x80\\xFF",
      ])
    #expect(texts.map(bytes) == names)
  }

  /// Decodes a printed name by the rules in the help.
  private func bytes(of text: String) -> [UInt8] {
    var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "\\") {
        bytes.append(byte)
      } else if rest.popFirst() == UInt8(ascii: "x") {
        bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)!)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(UInt8(ascii: "\\"))
      }
    }
    return bytes
  }

  @Test(
    "Characters that turn the direction of text or end a line are escaped, others are not",
    arguments: [
      "\u{202E}", "\u{2066}", "\u{200F}", "\u{61C}", "\u{2028}", "\u{2029}", "\u{85}", "\u{1B}",
    ])
  func deceptive(character: String) {
    let text = "\(Path("a\(character)b"))"
    #expect(text.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
    #expect(text.hasPrefix("a\\x"))
  }

  @Test("Letters, signs and joined pictures are told as they are")
  func harmless() {
    for name in ["Ünï", "日本", "شكرا", "👩‍👩‍👧", "“quoted” – €"] {
      #expect("\(Path(name))" == name)
    }
  }

  #if os(Linux)
    @Test("JSON has the bytes of paths whose text could be that of other paths")
    func pathBytes() async throws {
      struct Document: Decodable {
        struct Group: Decodable {
          let paths: [String], pathBytes: [Data]?, hardLinkBytes: [[Data]]?
        }
        let groups: [Group]
      }
      let decode = { (report: Report) in
        try JSONDecoder().decode(Document.self, from: Data(report.json.utf8)).groups[0]
      }
      #expect(try await decode(search(folder)).pathBytes == nil)
      let name = folder.path.appending([0x78, 0xFF])
      try folder.write("same", to: "x\\xFF")
      try systemCall {
        folder.path("b\"\n").withCString { old in name.withCString { rename(old, $0) } }
      }
      let group = try await decode(search(folder))
      // As text, both names are equal.
      #expect(group.paths.suffix(2) == [name.text, name.text])
      #expect(group.pathBytes?.last.map(Array.init) == name.bytes)
      #expect(group.pathBytes?[2].map { $0 } == folder.path("x\\xFF").bytes)
      #expect(group.hardLinkBytes == nil)
    }

    @Test("A backslash alone, in a path or in another name of its file, is told by its bytes")
    func backslash() async throws {
      struct Document: Decodable {
        struct Group: Decodable { let pathBytes: [Data]?, hardLinkBytes: [[Data]]? }
        struct Problem: Decodable { let pathBytes: Data? }
        let groups: [Group]
        let problems: [Problem]
      }
      let missing = folder.path("x\\xFF")
      let decode = {
        let report = try await search([folder.path, missing])
        return try JSONDecoder().decode(Document.self, from: Data(report.json.utf8))
      }
      try folder.makeHardLink("other\\xFF", to: "c")
      let links = try await decode()
      #expect(links.groups.map(\.pathBytes) == [nil])
      let bytes = links.groups[0].hardLinkBytes?.map { $0.map(Array.init) }
      #expect(bytes?.last?.last == folder.path("other\\xFF").bytes)
      #expect(links.problems.map { $0.pathBytes.map(Array.init) } == [missing.bytes])

      try folder.write("same", to: "x\\xFF")
      let group = try await decode().groups[0]
      #expect(group.pathBytes?.last.map(Array.init) == missing.bytes)
    }
  #endif
}
