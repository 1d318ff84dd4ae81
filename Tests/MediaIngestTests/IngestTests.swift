import ExampleSupport
import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// Which sidecars are written for which files.
@Suite("Ingest", .timeLimit(.minutes(5)), .oneAtATime)
struct IngestTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("abc", to: "in/abc")
    try folder.write(Data([0xFF, 0xD8, 0xFF, 0xE0]), to: "in/trip/day 1/photo.jpg")
  }

  @Test("Each file gets a sidecar with its name, size, time, type and SHA-256")
  func sidecars() async throws {
    let summary = try await ingest(folder)
    #expect(summary.counts == [2, 0, 0])
    #expect(summary.isComplete)
    #expect(summary.problems.isEmpty)
    #expect(summary.bytesRead == 7)
    #expect(summary.types == ["application/octet-stream": 1, "image/jpeg": 1])
    #expect(try folder.output() == ["abc.json", "trip/day 1/photo.jpg.json"])

    let status = try FileStatus(of: folder.path("in/abc"))
    #expect(
      try folder.read("out/abc.json") == """
        {
          "file" : "abc",
          "modified" : \(status.modified),
          "sha256" : "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
          "size" : 3,
          "type" : "application/octet-stream"
        }
        """)
    #expect(folder.sidecar(of: "trip/day 1/photo.jpg")?.type == MediaType("image/jpeg"))
  }

  @Test("A second run leaves alone what has not changed, and does what has")
  func secondRun() async throws {
    #expect(try await ingest(folder).counts == [2, 0, 0])
    #expect(try await ingest(folder).counts == [0, 2, 0])
    try folder.write("changed", to: "in/abc")
    try folder.write("new", to: "in/new")
    let summary = try await ingest(folder)
    #expect(summary.counts == [2, 1, 0])
    #expect(summary.files == 3)
    #expect(folder.sidecar(of: "abc")?.size == 7)
  }

  @Test(
    "A sidecar that makes no sense is written again",
    arguments: ["", "{", "{\"file\": \"abc\"}", "[]"])
  func damagedSidecar(content: String) async throws {
    try folder.write(content, to: "out/abc.json")
    #expect(try await ingest(folder).counts == [2, 0, 0])
    #expect(folder.sidecar(of: "abc")?.size == 3)
  }

  @Test("What an earlier run has left half-written is replaced")
  func leftover() async throws {
    try folder.write("half", to: "out/.ingest.partial")
    #expect(try await ingest(folder).counts == [2, 0, 0])
    #expect(try folder.output() == ["abc.json", "trip/day 1/photo.jpg.json"])
  }

  @Test("Hidden files, links, pipes and the output itself are left out")
  func leftOut() async throws {
    try folder.write("hidden", to: "in/.hidden/a")
    try folder.write("hidden", to: "in/.b")
    try systemCall { symlink("abc", folder.path("in/link")) }
    try systemCall { symlink("..", folder.path("in/trip/loop")) }
    try systemCall { mkfifo(folder.path("in/pipe"), 0o600) }
    try folder.write("old", to: "in/output/old.json")
    let summary = try await ingest(folder, options: ["--output", folder.path("in/output")])
    #expect(summary.files == 2)
    #expect(summary.problems.isEmpty)
  }

  @Test("An empty folder is no mistake")
  func empty() async throws {
    try folder.remove("in/abc")
    try folder.remove("in/trip")
    let summary = try await ingest(folder)
    #expect(summary.counts == [0, 0, 0])
    #expect(summary.isComplete)
  }

  @Test("A folder that is not there, or is a file, is told, and nothing is made")
  func missing() async throws {
    try folder.remove("in")
    let summary = try await ingest(folder)
    #expect(summary.problems.map(\.message) == ["No such file or directory"])
    #expect(!summary.hasBegun)
    #expect(throws: SystemError(code: ENOENT)) { try FileStatus(of: folder.path("out")) }
    try folder.write("", to: "in")
    #expect(try await ingest(folder).problems.map(\.message) == ["Not a directory"])
  }

  @Test("Many files of one folder are ingested side by side: each gets its own sidecar")
  func manyInOneFolder() async throws {
    try folder.remove("in")
    for index in 0..<300 { try folder.write("content \(index)", to: "in/f\(index)") }
    #expect(try await ingest(folder, options: ["--jobs", "16"]).counts == [300, 0, 0])
    for index in 0..<300 {
      let sidecar = try #require(folder.sidecar(of: "f\(index)"))
      #expect(sidecar.file == "f\(index)")
    }
    #expect(try folder.output().count == 300)
  }

  @Test("Never more files than asked for are worked on at a time", arguments: [1, 3])
  func jobs(jobs: Int) async throws {
    for index in 0..<40 { try folder.write("content", to: "in/f\(index)") }
    var ingesting = try Ingesting(folder, options: ["--jobs", "\(jobs)"])
    let open = Counter()
    ingesting.plan.open = { file throws(Problem) in
      open.add()
      defer { open.add(-1) }
      return try OpenFile(file)
    }
    #expect(await ingesting.run().counts == [42, 0, 0])
    #expect((1...jobs).contains(open.highest))
  }

  @Test("A file in the place of an output folder fails those that belong there, and no others")
  func folderInTheWay() async throws {
    try folder.write("in the way", to: "out/trip")
    let summary = try await ingest(folder)
    #expect(summary.counts == [1, 0, 1])
    #expect(summary.isComplete)
    #expect(summary.problems.map(\.file) == [folder.path("out/trip/day 1")])
    #expect(try folder.read("out/trip") == "in the way")
  }

  @Test("A second program that writes to the same output is turned away")
  func locked() async throws {
    let other = OutputTree(root: folder.path("out"))
    try other.claim()
    let summary = try await ingest(folder)
    #expect(
      summary.problems == [Problem(folder.path("out"), "another MediaIngest is writing there")])
    #expect(try folder.output() == [])
  }

  @Test("What may not be read is told, and the rest is done", .enabled(if: geteuid() != 0))
  func forbidden() async throws {
    try systemCall { chmod(folder.path("in/abc"), 0) }
    let summary = try await ingest(folder)
    #expect(summary.counts == [1, 0, 1])
    #expect(summary.problems == [Problem("abc", "Permission denied")])
  }

  #if os(Linux)
    @Test("A name that is not UTF-8 is told, and the rest is done")
    func notUTF8() async throws {
      let path = folder.path("in/x").utf8CString.dropLast() + [CChar(bitPattern: 0xFF), 0]
      let descriptor = try systemCall { open(Array(path), O_CREAT | O_WRONLY, 0o600) }
      close(descriptor)
      let summary = try await ingest(folder)
      #expect(summary.counts == [2, 0, 0])
      #expect(summary.problems.map(\.message) == ["has a name that is not UTF-8"])
    }
  #endif
}
