import ExampleSupport
import Foundation
import TestSupport
import Testing

@testable import DuplicateFinder

/// Which files are found, and how often.
@Suite("Scan", .timeLimit(.minutes(5)), .oneAtATime)
struct ScanTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("same", to: "a")
    try folder.write("same", to: "sub/b")
  }

  @Test("Hard links are one file, and all its names are told")
  func hardLinks() async throws {
    try folder.makeHardLink("sub/link", to: "a")
    let report = try await search(folder)
    #expect(report.names(in: folder) == [["a", "sub/b"]])
    #expect(report.groups[0].files[0].otherNames == [folder.path("sub/link")])
    #expect(report.wastedBytes == 4)
  }

  @Test("A file and its hard links alone are no group")
  func onlyHardLinks() async throws {
    try folder.remove("sub/b")
    try folder.makeHardLink("sub/link", to: "a")
    #expect(try await search(folder).groups.isEmpty)
  }

  @Test("Symbolic links are not followed, not even in circles")
  func symbolicLinks() async throws {
    try folder.makeSymbolicLink("toFile", to: "a")
    try folder.makeSymbolicLink("sub/loop", to: "..")
    try folder.makeSymbolicLink("dangling", to: "nowhere")
    let report = try await search(folder)
    #expect(report.names(in: folder) == [["a", "sub/b"]])
    #expect(report.files == 2)
    #expect(report.exitCode == .done)
  }

  @Test("A path that is a symbolic link is reported; with a slash it is searched")
  func symbolicLinkGiven() async throws {
    let other = try TemporaryFolder()
    try other.makeSymbolicLink("link", to: folder.path.text)
    let report = try await search([other.path("link")])
    #expect(report.problemKinds(in: other) == ["link": .unsupported])
    #expect(report.exitCode == .incomplete)
    let followed = try await search([other.path("link/")])
    #expect(followed.names(in: other) == [["link/a", "link/sub/b"]])
  }

  @Test("Pipes are left out")
  func special() async throws {
    try systemCall { folder.path("pipe").withCString { mkfifo($0, 0o600) } }
    let report = try await search(folder)
    #expect(report.files == 2)
    #expect(report.exitCode == .done)
    #expect(try await search([folder.path("pipe")]).exitCode == .incomplete)
  }

  @Test("Paths given twice, nested, or as file and folder count once", arguments: [false, true])
  func overlapping(reversed: Bool) async throws {
    let paths = [
      folder.path, folder.path, folder.path("sub"), folder.path("a"), folder.path("./a"),
      folder.path("sub/../a"), folder.path("sub/b"), folder.path(""),
    ]
    let report = try await search(reversed ? paths.reversed() : paths)
    #expect(report.files == 2)
    #expect(report.groups.map(\.files.count) == [2])
    #expect(report.groups[0].files.allSatisfy { $0.otherNames.isEmpty })
  }

  @Test("A path that does not exist is reported, and the rest is searched")
  func missing() async throws {
    let report = try await search([folder.path("missing"), folder.path])
    #expect(report.names(in: folder) == [["a", "sub/b"]])
    #expect(report.problemKinds(in: folder) == ["missing": .unreadable])
    #expect(report.exitCode == .incomplete)
  }

  @Test("A deep tree is scanned to its end")
  func deep() async throws {
    let depth = Array(repeating: "d", count: 500).joined(separator: "/")
    try folder.write("same", to: "\(depth)/c")
    #expect(try await search(folder).names(in: folder) == [["a", "\(depth)/c", "sub/b"]])
  }

  @Test("Files smaller than asked for are found and not compared")
  func minSize() async throws {
    for name in ["large1", "large2"] { try folder.write("a long content", to: name) }
    let report = try await search(folder, options: ["--min-size", "5"])
    #expect(report.names(in: folder) == [["large1", "large2"]])
    #expect(report.files == 4)
  }

  @Test(
    "What fits a pattern is left out, with all that is below it",
    arguments: [
      ("sub", ["a", "c.o", "d"]), ("*.o", ["a", "d", "sub/b"]), ("?", ["c.o"]),
      ("*/sub/*", ["a", "c.o", "d"]), ("[ad]", ["c.o", "sub/b"]),
      ("none", ["a", "c.o", "d", "sub/b"]),
    ])
  func exclude(pattern: String, names: [String]) async throws {
    for name in ["c.o", "d"] { try folder.write("same", to: name) }
    let report = try await search(folder, options: ["--exclude", pattern])
    #expect(report.files == names.count)
    #expect(report.names(in: folder) == (names.count > 1 ? [names] : []))
  }

  @Test("A path that is given is searched even if it fits a pattern")
  func excludeGiven() async throws {
    let report = try await search(
      [folder.path("sub"), folder.path], options: ["--exclude", "sub"])
    #expect(report.names(in: folder) == [["a", "sub/b"]])
  }

  private static var hasFileSystemInDevices: Bool {
    guard let outer = try? FileStatus(following: "/dev"),
      let inner = try? FileStatus(following: "/dev/shm")
    else { return false }
    return outer.id.device != inner.id.device && access("/dev/shm", W_OK) == 0
  }

  @Test(
    "With one file system what is on another one is left out", .enabled(if: hasFileSystemInDevices))
  func oneFileSystem() async throws {
    let inner = try TemporaryFolder(in: URL(fileURLWithPath: "/dev/shm"))
    for name in ["a", "b"] { try inner.write("content of \(inner.path)", to: name) }
    let outer = Path("/dev")
    let names = { (report: Report) in
      report.names(in: inner).filter { $0 == ["a", "b"] }.count
    }
    #expect(names(try await search([outer])) == 1)
    #expect(names(try await search([outer], options: ["--one-file-system"])) == 0)
    #expect(names(try await search([inner.path], options: ["--one-file-system"])) == 1)
  }

  #if os(Linux)
    @Test("A name that is not UTF-8 is read, and told in ASCII")
    func notUTF8() async throws {
      let path = folder.path.appending([0x78, 0xFF, 0x0A])
      let descriptor = try systemCall { path.withCString { open($0, O_CREAT | O_WRONLY, 0o600) } }
      try systemCall { write(descriptor, "same", 4) }
      close(descriptor)
      let report = try await search(folder)
      #expect(report.names(in: folder) == [["a", "sub/b", "x\\xFF\n"]])
      #expect("\(path)".hasSuffix("x\\xFF\\x0A"))
    }
  #endif
}
