import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// The same trouble with many files.
@Suite("Many troubles", .timeLimit(.minutes(5)), .oneAtATime)
struct ManyTroublesTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `a folder that cannot be made fails all of its files, without deep recursion`()
    async throws
  {
    let count = 3000
    for index in 0..<count { try folder.write("", to: "in/sub/f\(index)") }
    try folder.write("abc", to: "in/z")
    try folder.write("in the way", to: "out/sub")
    let summary = try await ingest(folder, options: ["--jobs", "1"])
    #expect(summary.counts == [1, 0, count])
    #expect(Set(summary.problems.map(\.file)) == [folder.path("out/sub")])
    #expect(try folder.output() == ["sub", "z.json"])
  }

  @Test func `system calls that hang in more files than jobs do not hold up the others`()
    async throws
  {
    let release = DispatchSemaphore(value: 0)
    let count = 5
    defer { for _ in 0..<count { release.signal() } }
    for index in 0..<count { try folder.write("hangs", to: "in/hangs\(index)") }
    try folder.write("abc", to: "in/z")
    var ingesting = try Ingesting(folder, options: ["--timeout", "4", "--jobs", "2"])
    ingesting.plan.open = { file throws(Problem) in
      if file.name.hasPrefix("hangs") { release.wait() }
      return try OpenFile(file)
    }
    #expect(await ingesting.run().counts == [1, 0, count])
    #expect(try folder.output() == ["z.json"])
  }

  @Test func `a file that is written when its time is up gets no sidecar`() async throws {
    let (opened, release) = (Event(), DispatchSemaphore(value: 0))
    try folder.write("late", to: "in/late")
    var ingesting = try Ingesting(folder, options: ["--timeout", "5"])
    ingesting.plan.open = { file throws(Problem) in
      let content = try OpenFile(file)
      opened.signal()
      release.wait()
      return content
    }
    let tasks = ingesting.start()
    #expect(await opened.opened())
    let summary = await ingesting.end(tasks)
    release.signal()
    #expect(summary.counts == [0, 0, 1])
    #expect(try folder.output() == [])
  }
}
