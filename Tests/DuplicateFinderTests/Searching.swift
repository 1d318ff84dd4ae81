import Properations

@testable import DuplicateFinder

/// Runs a search in this process.
func search(_ paths: [Path], options: [String] = []) async throws -> Report {
  let search = DuplicateSearch(
    try Options(options.map { Path($0) } + paths), scope: CancellationScope())
  let completion = await search.start().completion
  return Report(of: search.findings.soFar, isComplete: completion.isSuccess)
}

func search(_ folder: TemporaryFolder, options: [String] = []) async throws -> Report {
  try await search([folder.path], options: options)
}

extension Report {
  /// The names of equal files, relative to a folder.
  func names(in folder: TemporaryFolder) -> [[String]] {
    groups.map { $0.files.map { folder.name(of: $0.path) } }
  }

  /// The kinds of problems, by paths relative to a folder.
  func problemKinds(in folder: TemporaryFolder) -> [String: Problem.Kind] {
    Dictionary(uniqueKeysWithValues: problems.map { (folder.name(of: $0.path), $0.kind) })
  }
}
