import ExampleSupport
import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// Files that cannot be read now, ever, or in time.
@Suite("Trouble", .timeLimit(.minutes(5)), .oneAtATime)
struct TroubleTests {
  let folder: TemporaryFolder
  let attempts = Counter()

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("abc", to: "in/abc")
  }

  /// An ingest in which the first attempts to open a file fail.
  private func ingesting(failing count: Int, with code: Int32) throws -> Ingesting {
    var ingesting = try Ingesting(folder)
    ingesting.plan.open = { [attempts] file throws(Problem) in
      if attempts.add() <= count { throw Problem(file.name, SystemError(code: code)) }
      return try OpenFile(file)
    }
    return ingesting
  }

  @Test("A file that is busy is read at another attempt", arguments: 1...3)
  func transient(failures: Int) async throws {
    let summary = await (try ingesting(failing: failures, with: EBUSY)).run()
    #expect(summary.counts == [1, 0, 0])
    #expect(summary.problems.isEmpty)
    #expect(attempts.value == failures + 1)
  }

  @Test("A file that stays busy fails after the fourth attempt")
  func persistent() async throws {
    let summary = await (try ingesting(failing: .max, with: EBUSY)).run()
    #expect(summary.counts == [0, 0, 1])
    #expect(summary.problems == [Problem("abc", SystemError(code: EBUSY))])
    #expect(attempts.value == 4)
    #expect(try folder.output() == [])
  }

  @Test("An error that will not go away is not tried again")
  func permanent() async throws {
    let summary = await (try ingesting(failing: .max, with: EACCES)).run()
    #expect(summary.problems == [Problem("abc", "Permission denied")])
    #expect(attempts.value == 1)
  }

  @Test("A file that changes while it is read is tried again, and told if it goes on changing")
  func changing() async throws {
    var ingesting = try Ingesting(folder)
    ingesting.plan.open = { [attempts, folder] file throws(Problem) in
      let content = try OpenFile(file)
      do {
        try folder.write("changed \(attempts.add())", to: "in/abc")
      } catch {
        throw Problem(file.name, error)
      }
      return content
    }
    let summary = await ingesting.run()
    #expect(summary.problems == [Problem(changed: "abc")])
    #expect(attempts.value == 4)
  }

  @Test("A file that takes too long is given up, and the others are done")
  func timeout() async throws {
    try folder.makeSparseFile("in/large", size: 1 << 40)
    let summary = try await ingest(folder, options: ["--timeout", "5"])
    #expect(summary.counts == [1, 0, 1])
    #expect(summary.isComplete)
    #expect(summary.problems == [Problem("large", "not finished within 5.0 seconds")])
    #expect(try folder.output() == ["abc.json"])
  }

  @Test("A system call that hangs does not keep the program from ending")
  func hanging() async throws {
    let release = DispatchSemaphore(value: 0)
    defer { release.signal() }
    try folder.write("hangs", to: "in/hangs")
    var ingesting = try Ingesting(folder, options: ["--timeout", "5"])
    ingesting.plan.open = { file throws(Problem) in
      if file.name == "hangs" { release.wait() }
      return try OpenFile(file)
    }
    let summary = await ingesting.run()
    #expect(summary.counts == [1, 0, 1])
    #expect(summary.problems == [Problem("hangs", "not finished within 5.0 seconds")])
  }
  @Test("System calls hang for as many files as the limit: the ingest stops, and says so once")
  func tooManyHang() async throws {
    let release = DispatchSemaphore(value: 0)
    defer { for _ in 0..<20 { release.signal() } }
    for number in 10..<30 { try folder.write("hangs", to: "in/hangs\(number)") }
    var ingesting = try Ingesting(folder, options: ["--timeout", "0.1", "--jobs", "2"])
    ingesting.plan.hangingLimit = 3
    ingesting.plan.open = { [attempts] file throws(Problem) in
      if file.name.hasPrefix("hangs") {
        attempts.add()
        release.wait()
      }
      return try OpenFile(file)
    }
    let summary = await ingesting.run()
    #expect(!summary.isComplete)
    #expect(summary.problems.count { $0.message.hasPrefix("not begun, because too many") } == 1)
    #expect(attempts.value < 20)
  }

  @Test("A file that hangs ends after all: it no longer counts as hanging")
  func hangingEnds() async throws {
    let release = DispatchSemaphore(value: 0)
    var ingesting = try Ingesting(folder, options: ["--timeout", "5"])
    ingesting.plan.open = { file throws(Problem) in
      release.wait()
      return try OpenFile(file)
    }
    let summary = await ingesting.run()
    #expect(summary.problems == [Problem("abc", "not finished within 5.0 seconds")])
    #expect(await eventually { ingesting.plan.hangingFiles.count == 1 })
    release.signal()
    #expect(await eventually { ingesting.plan.hangingFiles.count == 0 })
  }
}
