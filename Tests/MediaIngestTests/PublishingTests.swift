import ExampleSupport
import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// When a sidecar gets its place, and which place.
@Suite("Publishing", .timeLimit(.minutes(5)), .oneAtATime)
struct PublishingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// An ingest that calls a closure before each sync.
  private func ingesting(
    _ options: [String] = [], beforeSync: @escaping @Sendable () throws(Problem) -> Void
  ) throws -> Ingesting {
    var ingesting = try Ingesting(folder, options: options)
    let output = ingesting.plan.output
    ingesting.plan.publisher = Publisher(output, ingesting.ledger) { () throws(Problem) in
      try beforeSync()
      try output.sync()
    }
    return ingesting
  }

  @Test("One sync serves many files")
  func fewSyncs() async throws {
    for index in 0..<400 { try folder.write("content", to: "in/f\(index)") }
    let syncs = Counter()
    let summary = await (try ingesting { syncs.add() }).run()
    #expect(summary.counts == [400, 0, 0])
    #expect((1...100).contains(syncs.value))
    #expect(try folder.output().count == 400)
  }

  @Test("What is not on the disk yet has no place, and counts as not done")
  func notSynced() async throws {
    for name in ["a", "b"] { try folder.write(name, to: "in/\(name)") }
    let seen = Log<Int>()
    let (syncing, goOn) = (Event(), Event())
    let (ledger, tasks) = try {
      let ingesting = try ingesting {
        syncing.signal()
        if !goOn.wait(Event.patience * 3) { Issue.record("The test did not go on in time.") }
      }
      return (ingesting.ledger, (ingesting, ingesting.start()))
    }()
    #expect(await syncing.opened())
    seen.append(ledger.summary.written)
    #expect(try folder.output().filter { $0.hasSuffix(".json") } == [])
    goOn.signal()
    let summary = await tasks.0.end(tasks.1)
    #expect(seen.entries == [0])
    #expect(summary.counts == [2, 0, 0])
    #expect(try folder.output() == ["a.json", "b.json"])
  }

  @Test("If a sync fails nothing counts as done, and one message tells it")
  func failingSync() async throws {
    for index in 0..<20 { try folder.write("content", to: "in/f\(index)") }
    let full = Problem(folder.path("out"), SystemError(code: ENOSPC))
    let summary = await (try ingesting { () throws(Problem) in throw full }).run()
    #expect(summary.written == 0)
    #expect(!summary.isComplete)
    #expect(summary.problems == [full])
    #expect(summary.text.contains("Stopped after"))
    #expect(try folder.output() == [])
    #expect(try await ingest(folder).counts == [20, 0, 0])
  }

  @Test("If the disk is full at a later sync, what was published before counts as done")
  func failingLaterSync() async throws {
    let count = 1500
    for index in 0..<count { try folder.write("content", to: "in/f\(index)") }
    let full = Problem(folder.path("out"), SystemError(code: ENOSPC))
    let syncs = Counter()
    let summary = await (try ingesting { () throws(Problem) in if syncs.add() > 1 { throw full } })
      .run()
    #expect((1..<count).contains(summary.written))
    #expect(summary.problems == [full])
    #expect(try folder.output().count == summary.written)
    #expect(try await ingest(folder).counts == [count - summary.written, summary.written, 0])
  }

  @Test("Two files of one folder are worked on at the same time")
  func sideBySide() async throws {
    for name in ["a", "b"] { try folder.write(name, to: "in/\(name)") }
    var ingesting = try Ingesting(folder, options: ["--jobs", "2"])
    let events = ["a": Event(), "b": Event()]
    let met = Counter()
    ingesting.plan.open = { file throws(Problem) in
      events[file.name]?.signal()
      if events[file.name == "a" ? "b" : "a"]?.wait() == true { met.add() }
      return try OpenFile(file)
    }
    #expect(await ingesting.run().counts == [2, 0, 0])
    #expect(met.value == 2)
  }

  private static let longName = String(repeating: "n", count: 251)

  @Test("Files and folders whose names could meet in the output all get their sidecars")
  func collisions() async throws {
    let names = [
      "x", "x.json/x", "x.json/x.json", "x.json.d/x", "x.json.d.d/x", "y.d/x",
      Self.longName, String(repeating: "n", count: 255), "\(Self.longName)/\(Self.longName)",
      String(repeating: "ü", count: 127),
    ]
    for name in names where name != Self.longName { try folder.write(name, to: "in/\(name)") }
    let files = names.filter { $0 != Self.longName }
    #expect(try await ingest(folder).counts == [files.count, 0, 0])
    #expect(try await ingest(folder).counts == [0, files.count, 0])
    for name in files {
      #expect(Sidecar(at: folder.path("out/\(SidecarPlace(of: name).path)"))?.file == name)
    }
  }

  @Test("No place is that of another file, or of a folder")
  func places() {
    let names = [
      "x", "x.json", "x.json/x", "x.json.d", "x.json.d/x", "x.d", "x.d/x", "d", ".json/x",
      Self.longName + "1", Self.longName + "2", Self.longName + ".json/x",
    ]
    let places = names.map(SidecarPlace.init)
    let folders = Set(places.map(\.folder))
    #expect(Set(places).count == names.count)
    #expect(folders.isDisjoint(with: places.map(\.path)))
    #expect(
      places.allSatisfy {
        $0.path.split(separator: "/").allSatisfy { $0.utf8.count <= 255 }
      })
    #expect(SidecarPlace(of: "a/b").path == "a/b.json")
    #expect(SidecarPlace(of: "a.json/b").path == "a.json.d/b.json")
  }

  @Test("A sidecar that is not whole, byte by byte, is written again")
  func damaged() async throws {
    try folder.write("abc", to: "in/abc")
    #expect(try await ingest(folder).counts == [1, 0, 0])
    let whole = try folder.read("out/abc.json")
    let damages = [
      String(whole.dropLast()), whole + "\n", whole + "\0\0", String(repeating: "\0", count: 100),
      whole.replacingOccurrences(of: " : ", with: ":"),
      whole.replacingOccurrences(of: "ba7816bf", with: "BA7816BF"),
      whole.replacingOccurrences(of: "ba7816bf", with: ""),
      whole.replacingOccurrences(of: "ba7816bf", with: "gggggggg"),
    ]
    for damage in damages {
      try folder.write(damage, to: "out/abc.json")
      #expect(try await ingest(folder).counts == [1, 0, 0])
      #expect(try folder.read("out/abc.json") == whole)
    }
    #expect(try await ingest(folder).counts == [0, 1, 0])
  }

  @Test("A sidecar of any name is believed once it is written")
  func quoted() async throws {
    let names = ["a\"b", "a\\b", "a\nb", "ü€"]
    for name in names { try folder.write("abc", to: "in/\(name)") }
    #expect(try await ingest(folder).counts == [names.count, 0, 0])
    #expect(try await ingest(folder).counts == [0, names.count, 0])
  }

  @Test("A program that is killed leaves only whole sidecars, and the next one does the rest")
  func killed() async throws {
    let count = 3000
    for index in 0..<count { try folder.write("content \(index)", to: "in/f\(index)") }
    let program = Program("MediaIngest")
    let process = Process()
    process.executableURL = program.url
    process.arguments = ["--output", folder.path("out"), folder.path("in")]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let exitCode = process.runAsFuture()
    let partial = folder.path("out/.ingest.partial")
    while exitCode.result == nil,
      ((try? FileManager.default.subpathsOfDirectory(atPath: partial)) ?? []).count < 100
    { try await Task.sleep(for: .milliseconds(1)) }
    // (Zero would be this process and its whole group.)
    try #require(process.processIdentifier > 0)
    kill(process.processIdentifier, SIGKILL)
    _ = await exitCode.completion

    let done = try FileManager.default.contentsOfDirectory(atPath: folder.path("out"))
      .filter { $0.hasSuffix(".json") }
    #expect(done.allSatisfy { Sidecar(at: folder.path("out/\($0)")) != nil })
    let summary = try await ingest(folder)
    #expect(summary.counts == [count - done.count, done.count, 0])
    #expect(try folder.output().count == count)
    #expect(throws: SystemError(code: ENOENT)) { try FileStatus(of: partial) }
  }
}
