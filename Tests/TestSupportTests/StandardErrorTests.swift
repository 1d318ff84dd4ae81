import Foundation
import TestSupport
import Testing

@Suite("StandardError", .timeLimit(.minutes(5)), .oneAtATime, .serialized)
struct StandardErrorTests {
  private func capture(_ body: @escaping @Sendable () -> Void) async throws -> String {
    try await SmallStackThread.running { try StandardError.captured(during: body) }
  }

  @Test func `what is written meanwhile is captured`() async throws {
    let text = try await capture { FileHandle.standardError.write(Data("caught\n".utf8)) }
    #expect(text.contains("caught\n"))
  }

  @Test func `silence is captured as nothing of ours`() async throws {
    let text = try await capture {}
    #expect(!text.contains("caught"))
  }

  @Test func `what is written afterwards goes where it went before`() async throws {
    let before = fcntl(STDERR_FILENO, F_GETFL)
    _ = try await capture {}
    #expect(fcntl(STDERR_FILENO, F_GETFL) == before)
  }
}
