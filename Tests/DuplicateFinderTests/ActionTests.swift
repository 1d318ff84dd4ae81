import ExampleSupport
import Foundation
import Properations
import Synchronization
import TestSupport
import Testing

@testable import DuplicateFinder

/// Removing and linking equal files, and the protection of other files.
@Suite("Actions", .timeLimit(.minutes(5)), .oneAtATime)
struct ActionTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a", "b", "sub/c"] { try folder.write("same", to: name) }
    try folder.write("else", to: "other")
  }

  /// Searches, runs a closure, and then performs the action.
  private func act(
    _ action: Action, after change: () throws -> Void = {}
  ) async throws -> Report {
    let search = try await search()
    try change()
    return try await finish(search, action) { _ in }
  }

  /// Searches and performs the action; a closure runs between the steps.
  private func actInSteps(
    _ action: Action, scope: CancellationScope = .init(),
    _ onStep: @escaping @Sendable (Replacement.Step) -> Void
  ) async throws -> Report {
    try await finish(search(scope), action, onStep)
  }

  private func search(_ scope: CancellationScope = .init()) async throws -> DuplicateSearch {
    let search = DuplicateSearch(try Options([folder.path]), scope: scope)
    try await search.start().value
    return search
  }

  private func finish(
    _ search: DuplicateSearch, _ action: Action,
    _ onStep: @escaping @Sendable (Replacement.Step) -> Void
  ) async throws -> Report {
    let isComplete = await search.perform(action, onStep: onStep).completion.isSuccess
    return Report(of: search.findings.soFar, isComplete: isComplete)
  }

  private func inode(_ name: String) throws -> FileStatus.ID {
    try FileStatus(of: folder.path(name)).id
  }

  private func content(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.url.appendingPathComponent(name)), as: UTF8.self)
  }

  /// Returns the names of all files.
  private func names() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
      .filter { (try? FileStatus(of: folder.path($0)).kind) == .file }.sorted()
  }

  private func fates(_ report: Report) -> [String: Fate] {
    Dictionary(
      uniqueKeysWithValues: (report.deeds?.fates ?? [:]).map { (folder.name(of: $0), $1) })
  }

  @Test("All files of a group but the first are removed, and nothing else")
  func remove() async throws {
    let report = try await act(.remove)
    #expect(try names() == ["a", "other"])
    #expect(try content("a") == "same")
    #expect(fates(report) == ["a": .kept, "b": .removed, "sub/c": .removed])
    #expect(report.deeds?.freedBytes == 8)
    #expect(report.exitCode == .done)
    #expect(report.text.hasSuffix("2 files removed, 8 bytes freed.\n"))
    #expect(report.text.contains("  kept     \(folder.path)/a\n  removed  \(folder.path)/b\n"))
  }

  @Test("All files of a group but the first become hard links to the first")
  func link() async throws {
    let report = try await act(.hardLink)
    #expect(try names() == ["a", "b", "other", "sub/c"])
    #expect(try inode("a") == inode("b"))
    #expect(try inode("a") == inode("sub/c"))
    #expect(try inode("a") != inode("other"))
    #expect(fates(report) == ["a": .kept, "b": .linked, "sub/c": .linked])
    #expect(report.text.hasSuffix("2 files linked, 8 bytes freed.\n"))
    #expect(try await DuplicateFinderTests.search(folder).groups.isEmpty)
  }

  @Test(
    "A dry run tells what would be done, and changes nothing", arguments: ["remove", "hard-link"])
  func dryRun(action: String) async throws {
    let outcome = try await Tool.run(["--\(action)", "--dry-run", folder.path.text])
    #expect(outcome.exitCode == 0)
    let (verb, done) = action == "remove" ? ("remove", "removed") : ("link  ", "linked")
    #expect(outcome.output.contains("  keep    \(folder.path)/a\n  \(verb)  \(folder.path)/b\n"))
    #expect(outcome.output.hasSuffix("2 files would be \(done). Nothing was changed.\n"))
    #expect(try names() == ["a", "b", "other", "sub/c"])
    #expect(try inode("a") != inode("b"))
  }

  @Test("The program tells in JSON what it has done")
  func json() async throws {
    let outcome = try await Tool.run(["--remove", "--json", folder.path.text])
    #expect(outcome.exitCode == 0)
    struct Document: Decodable {
      struct Group: Decodable { let fates: [String] }
      struct Deeds: Decodable, Equatable {
        let action: String, dryRun: Bool, files: Int, freedBytes: Int
      }
      let groups: [Group]
      let deeds: Deeds
    }
    let document = try JSONDecoder().decode(Document.self, from: Data(outcome.output.utf8))
    #expect(document.groups.map(\.fates) == [["kept", "removed", "removed"]])
    #expect(document.deeds == .init(action: "remove", dryRun: false, files: 2, freedBytes: 8))
  }

  @Test("Hard links of the first stay, and a file goes with all its names that were found")
  func hardLinks() async throws {
    try folder.makeHardLink("a2", to: "a")
    try folder.makeHardLink("sub/b2", to: "b")
    _ = try await act(.remove)
    #expect(try names() == ["a", "a2", "other"])
  }

  @Test("A file with a name that was not found stays under it, and frees nothing")
  func nameElsewhere() async throws {
    let elsewhere = try TemporaryFolder()
    try systemCall {
      folder.path("b").withCString { b in elsewhere.path("b").withCString { Foundation.link(b, $0) }
      }
    }
    let report = try await act(.remove)
    #expect(report.deeds?.freedBytes == 4)
    #expect(try elsewhere.file("b").status.size == 4)
  }

  @Test("All names of a file become links to the first")
  func linkAllNames() async throws {
    try folder.makeHardLink("sub/b2", to: "b")
    let report = try await act(.hardLink)
    #expect(try inode("a") == inode("sub/b2"))
    #expect(report.deeds?.freedBytes == 8)
  }

  @Test(
    "What has changed since the search is left alone", arguments: [Action.remove, .hardLink],
    ["b", "sub/c"])
  func changed(action: Action, name: String) async throws {
    let report = try await act(action, after: { try folder.write("mine", to: name) })
    #expect(try content(name) == "mine")
    #expect(report.problemKinds(in: folder) == [name: .changed])
    #expect(fates(report)[name] == .left)
    #expect(report.deeds?.count == 1)
    #expect(report.exitCode == .incomplete)
  }

  @Test(
    "A file of another content with the size and time of before is not taken for equal",
    arguments: [Action.remove, .hardLink])
  func sameTime(action: Action) async throws {
    let report = try await act(
      action,
      after: {
        // Writes in place, and then restores the time that the search has found.
        var info = stat()
        try systemCall { folder.path("b").withCString { stat($0, &info) } }
        let descriptor = try systemCall { folder.path("b").withCString { open($0, O_WRONLY) } }
        defer { close(descriptor) }
        try systemCall { write(descriptor, "mine", 4) }
        #if canImport(Darwin)
          let times = [info.st_atimespec, info.st_mtimespec]
        #else
          let times = [info.st_atim, info.st_mtim]
        #endif
        try systemCall { futimens(descriptor, times) }
      })
    #expect(try content("b") == "mine")
    #expect(fates(report)["b"] == .left)
    #expect(report.problemKinds(in: folder) == ["b": .changed])
  }

  @Test(
    "Where the first has vanished or changed, all others of its group are left",
    arguments: [Action.remove, .hardLink], [true, false])
  func firstIsGone(action: Action, isRemoved: Bool) async throws {
    let report = try await act(
      action,
      after: { if isRemoved { try folder.remove("a") } else { try folder.write("mine", to: "a") } })
    #expect(try content("b") == "same")
    #expect(try content("sub/c") == "same")
    #expect(try inode("b") != inode("sub/c"))
    #expect(report.problemKinds(in: folder) == ["a": isRemoved ? .vanished : .changed])
    #expect(report.deeds?.count == 0)
  }

  @Test(
    "A symbolic link in the place of a file is neither followed nor replaced",
    arguments: [Action.remove, .hardLink], ["a", "b"])
  func symbolicLink(action: Action, name: String) async throws {
    let report = try await act(
      action,
      after: {
        try folder.remove(name)
        try folder.makeSymbolicLink(name, to: "other")
      })
    #expect(try FileStatus(of: folder.path(name)).kind == .link)
    #expect(report.problemKinds(in: folder) == [name: .changed])
    #expect(try content("other") == "else")
  }

  @Test("A symbolic link in the place of the file's folder leads to nothing that is touched")
  func folderReplaced() async throws {
    let elsewhere = try TemporaryFolder()
    try elsewhere.write("same", to: "c")
    let report = try await act(
      .remove,
      after: {
        try folder.remove("sub")
        try folder.makeSymbolicLink("sub", to: elsewhere.path.text)
      })
    #expect(try elsewhere.file("c").status.size == 4)
    #expect(fates(report)["sub/c"] == .left)
  }

  @Test(
    "What takes a file's name between two steps keeps it", arguments: [Action.remove, .hardLink])
  func newFileBetweenSteps(action: Action) async throws {
    let folder = folder
    let report = try await actInSteps(action) { step in
      // Saves a file like an editor: the new file already has the name, or takes it now.
      switch step {
      case .linked(let temporary) where folder.name(of: temporary).hasPrefix("."):
        try? folder.write("mine", to: "new")
        _ = folder.path("new").withCString { new in folder.path("b").withCString { rename(new, $0) }
        }
      case .setAside(let temporary) where folder.name(of: temporary).hasPrefix("."):
        try? folder.write("mine", to: "b")
        // The file that was set aside is changed too.
        try? folder.write("mine too", to: folder.name(of: temporary))
      default: break
      }
    }
    #expect(try content("b") == "mine")
    #expect(fates(report)["b"] == .left)
    let kept = try names().filter { $0.hasPrefix(Path.leftoverPrefix) }
    // A file that has lost its name is reported, not removed.
    #expect(try kept.map(content) == (action == .remove ? ["mine too"] : []))
    let message = report.problems.first { $0.path == folder.path("b") }?.message ?? ""
    #expect(message.contains("it is called") == (action == .remove))
  }

  @Test("A file that changes once it has been set aside gets its name back")
  func changedAside() async throws {
    let folder = folder
    _ = try await actInSteps(.remove) { step in
      guard case .setAside(let path) = step, folder.name(of: path).hasPrefix(".") else { return }
      try? folder.write("changed", to: folder.name(of: path))
    }
    #expect(try content("b") == "changed")
    #expect(try names() == ["a", "b", "other"])
  }

  @Test("A file that changes once it has been exchanged gets its name back")
  func changedAfterExchange() async throws {
    let folder = folder
    let report = try await actInSteps(.hardLink) { step in
      guard case .exchanged(let path) = step, folder.name(of: path).hasPrefix(".") else { return }
      try? folder.write("changed", to: folder.name(of: path))
    }
    #expect(try content("b") == "changed")
    #expect(try names() == ["a", "b", "other", "sub/c"])
    #expect(fates(report)["b"] == .left)
    #expect(try inode("a") == inode("sub/c"))
  }

  @Test("If the first vanishes with the file, as one that is mounted twice does, both are back")
  func sameFileTwice() async throws {
    let folder = folder
    let report = try await actInSteps(.remove) { step in
      guard case .setAside = step else { return }
      _ = folder.path("a").withCString { unlink($0) }
    }
    #expect(try names() == ["b", "other", "sub/c"])
    #expect(report.problemKinds(in: folder) == ["a": .vanished])
    #expect(report.deeds?.count == 0)
  }

  @Test("At every step each content has a name, and one that is linked keeps its own")
  func steps() async throws {
    let folder = folder
    let steps = Log<String>()
    _ = try await actInSteps(.hardLink) { step in
      let isThere = ["a", "b", "sub/c"].allSatisfy { (try? FileStatus(of: folder.path($0))) != nil }
      let isTemporaryThere: Bool
      switch step {
      case .setAside(let path), .linked(let path), .exchanged(let path):
        isTemporaryThere = (try? FileStatus(of: path).size) == 4
      }
      steps.append("\(isThere) \(isTemporaryThere)")
    }
    #expect(steps.entries == Array(repeating: "true true", count: 4))
  }

  @Test("Files are not linked to one of another mode")
  func otherMode() async throws {
    try systemCall { folder.path("b").withCString { chmod($0, 0o755) } }
    let report = try await act(.hardLink)
    #expect(report.problemKinds(in: folder) == ["b": .refused])
    #expect(try inode("a") != inode("b"))
    #expect(try inode("a") == inode("sub/c"))
  }

  private static let otherFileSystem = "/dev/shm"

  private static var hasOtherFileSystem: Bool {
    guard let other = try? FileStatus(following: otherFileSystem),
      let usual = try? FileStatus(following: FileManager.default.temporaryDirectory.path)
    else { return false }
    return other.id.device != usual.id.device && access(otherFileSystem, W_OK) == 0
  }

  @Test(
    "Files on another file system are not linked, but removed", .enabled(if: hasOtherFileSystem))
  func otherFileSystem() async throws {
    let other = try TemporaryFolder(in: URL(fileURLWithPath: Self.otherFileSystem))
    try other.write("same", to: "z")
    for (option, code) in [("--hard-link", Int32(1)), ("--remove", 0)] {
      let outcome = try await Tool.run([option, "--", folder.path("a").text, other.path.text])
      // The order of paths decides which file is the first.
      let left = [folder.path("a"), other.path("z")].count { (try? FileStatus(of: $0)) != nil }
      #expect(outcome.exitCode == code)
      #expect(outcome.errors.contains("is on another file system than") == (code == 1))
      #expect(left == (code == 1 ? 2 : 1))
    }
  }

  @Test(
    "In a folder that may not be written nothing is lost", arguments: ["--remove", "--hard-link"])
  func readOnlyFolder(option: String) async throws {
    try systemCall { folder.path.withCString { chmod($0, 0o555) } }
    defer { _ = folder.path.withCString { chmod($0, 0o755) } }
    // Root may write everywhere, so the program runs as another user.
    let user = geteuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups" : "exec"
    let copy = try TemporaryFolder()
    let outcome = try await Tool.runShell(
      "cp \"$0\" '\(copy.path)/tool' && \(user) '\(copy.path)/tool' \"$@\"",
      [option, folder.path.text])
    #expect(outcome.exitCode == 1)
    #expect(outcome.errors.contains("b: cannot be"))
    // On some systems only the owner may link a file.
    let messages = ["Permission denied", "Operation not permitted"]
    #expect(messages.contains { outcome.errors.contains($0) })
    #expect(try names() == ["a", "b", "other", "sub/c"])
    #expect(try content("b") == "same")
  }

  @Test("An interruption ends it between two files, and tells what was done")
  func interrupted() async throws {
    let scope = CancellationScope()
    let report = try await actInSteps(.remove, scope: scope) { _ in scope.cancel() }
    #expect(try names() == ["a", "other", "sub/c"])
    #expect(fates(report) == ["a": .kept, "b": .removed, "sub/c": .left])
    #expect(!report.isComplete)
    #expect(report.exitCode == .interrupted)
  }

  @Test("A search that is interrupted removes nothing")
  func interruptedSearch() async throws {
    try folder.makeSparseFile("large1", size: 1 << 40)
    try folder.makeSparseFile("large2", size: 1 << 40)
    let terminal = try Terminal()
    let process = Process()
    process.executableURL = Tool.url
    process.arguments = ["--remove", folder.path.text]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = terminal.processSide
    let mark = terminal.appearance(of: "1 group")
    let exitCode = process.runAsFuture()
    try await mark.value
    kill(process.processIdentifier, SIGINT)
    #expect(try await exitCode.value == 130)
    #expect(try names() == ["a", "b", "large1", "large2", "other", "sub/c"])
  }

  @Test(
    "A program that is killed has lost no content, and the next run puts things in order",
    arguments: ["--remove", "--hard-link"])
  func killed(option: String) async throws {
    for index in 0..<400 {
      for copy in ["x", "y", "z"] {
        try folder.write("content \(index)", to: "many/\(copy)\(index)")
      }
    }
    let process = Process()
    process.executableURL = Tool.url
    process.arguments = [option, folder.path.text]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let exitCode = process.runAsFuture()
    while try links() == 1203 + 1, exitCode.result == nil {
      try await Task.sleep(for: .milliseconds(1))
    }
    // (Zero would be this process and its whole group.)
    try #require(process.processIdentifier > 0)
    kill(process.processIdentifier, SIGKILL)
    _ = await exitCode.completion
    let found = Set(try names().map(content))
    #expect(found.count == 402)

    let outcome = try await Tool.run([option, "--summary", folder.path.text])
    #expect(outcome.exitCode == 0)
    // A link that was made, but not exchanged yet, may remain if its group no longer
    // exists.
    let leftovers = try names().count { $0.contains(Path.leftoverPrefix) }
    #expect(leftovers <= (option == "--remove" ? 0 : 2))
    for index in 0..<400 { #expect(try content("many/x\(index)") == "content \(index)") }
    #expect(try await DuplicateFinderTests.search(folder).groups.isEmpty)
  }

  /// The number of different files.
  private func links() throws -> Int {
    Set(try names().compactMap { try? FileStatus(of: folder.path($0)).id }).count
  }

  @Test("What a killed run has left is never the first of its group, and is removed")
  func leftover() async throws {
    try folder.write("same", to: "\(Path.leftoverPrefix)abc")
    let report = try await act(.hardLink)
    #expect(fates(report)["a"] == .kept)
    #expect(try names() == ["a", "b", "other", "sub/c"])
  }
}
