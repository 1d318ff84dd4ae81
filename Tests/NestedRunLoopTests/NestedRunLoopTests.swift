@testable import NestedRunLoops
import TestSupport
import Testing

/// On Linux the main thread of the tests serves no run loop, so each scene runs in a
/// process of its own.
@Suite("A closure that serves a nested run loop", .timeLimit(.minutes(5)), .oneAtATime)
struct NestedRunLoopTests {
  private static let scenes = Scene.allCases.map(\.rawValue)
  // A run loop does not serve the main queue inside a block of the main queue.
  private static let scenesWithoutMainQueue = Scene.allCases.filter { !$0.needsMainQueue }.map(
    \.rawValue)

  @Test(
    "In a block that the run loop performs: what it starts is carried out inside",
    arguments: scenes)
  func performed(_ scene: String) async throws {
    #expect(try await Program("NestedRunLoops").run([scene, "performed"]).exitCode == 0)
  }

  @Test(
    "In a block of the main queue: what it starts is carried out inside",
    arguments: scenesWithoutMainQueue)
  func queued(_ scene: String) async throws {
    #expect(try await Program("NestedRunLoops").run([scene, "queued"]).exitCode == 0)
  }
}
