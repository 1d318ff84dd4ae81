import ExampleSupport
import Foundation
import TestSupport
import Testing

@testable import BuildGraph

/// The state file when it cannot be written for a while.
@Suite("The journal of BuildGraph", .timeLimit(.minutes(5)), .oneAtATime)
struct JournalTests {
  #if os(Linux) || os(macOS)
    @Test func `a line that a full disk has cut off does not spoil the next line`() async {
      // In a process of its own: the limit is for all files of a process.
      await #expect(processExitsWith: .success) {
        signal(SIGXFSZ, SIG_IGN)
        let folder = try TemporaryFolder("JournalTests")
        let path = folder.file("state").path
        let journal = try Journal(path: path, keeping: ["a", "b"])
        let record = Record(
          script: "true", prerequisites: [], stamps: [], stamp: .ofBuild(), isFile: false)
        try journal.end("b", record)
        #expect(Journal.records(in: path)["b"] == record)

        let size = try Data(contentsOf: folder.file("state")).count
        try Self.limitFiles(to: rlim_t(size + 5))
        #expect(throws: Journal.Failure.self) { try journal.begin("a") }
        try Self.limitFiles(to: nil)
        #expect(try Data(contentsOf: folder.file("state")).count == size + 5)

        // The build of this target begins, so its record does not count any more.
        try journal.begin("b")
        #expect(Journal.records(in: path)["b"] == nil)
      }
    }

    private static func limitFiles(to size: rlim_t?) throws {
      var limit = rlimit()
      #if canImport(Darwin)
        let resource = RLIMIT_FSIZE
      #else
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      #endif
      try systemCall { getrlimit(resource, &limit) }
      limit.rlim_cur = size ?? limit.rlim_max
      try systemCall { setrlimit(resource, &limit) }
    }
  #endif
}
