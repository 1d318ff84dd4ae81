import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// Many commands in one process, under the usual limit of descriptors.
@Suite(.enabled(if: isStressing), .timeLimit(.minutes(5)), .serialized)
struct ProcessStressTests {
  #if os(Linux) || os(macOS)
    @Sendable private static func command() -> Process {
      let process = Process()
      process.executableURL = URL(filePath: "/bin/true")
      process.standardOutput = Pipe()
      return process
    }
  #endif

  @Sendable private static func descriptors() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  /// Sets the limit that shells usually have.
  @Sendable private static func limitDescriptors() {
    var limit = rlimit(rlim_cur: 1_024, rlim_max: 1_024)
    #if os(Linux)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
      setrlimit(RLIMIT_NOFILE, &limit)
    #endif
  }

  #if os(Linux) || os(macOS)
    @Test func `1,200 commands, four at a time, need fewer than 1,024 descriptors`() async {
      await #expect(processExitsWith: .success) {
        Self.limitDescriptors()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        _ = try await Self.command().runAsFuture(in: queue).value
        let before = Self.descriptors()
        // (Made when their turn comes: each has a pipe from the beginning.)
        let statuses = Promises.makeSucceeded(with: Array(0..<1_200))
          .mapElementsToFuture(on: .global(), maxConcurrent: 4) { _ in
            Self.command().runAsFuture(in: queue)
          }
        let ended = await eventually(within: .seconds(60)) { statuses.isFulfilled }
        let succeeded = statuses.result?.successValue?.allSatisfy { $0 == 0 } == true
        let areGivenBack = await eventually {
          Self.descriptors() <= before + 8
        }
        exit(ended && succeeded && areGivenBack ? EXIT_SUCCESS : EXIT_FAILURE)
      }
    }

    @Test func `300 commands launched by eight threads at once give all descriptors back`() async {
      await #expect(processExitsWith: .success) {
        _ = try await Self.command().runAsFuture().value
        let before = Self.descriptors()
        let statuses = Log<Int32>()
        for _ in 0..<8 {
          Thread.detachNewThread {
            for _ in 0..<38 {
              statuses.append(
                (try? Self.command().runAsFuture().wait(timeout: .seconds(60))) ?? -1)
            }
          }
        }
        let ended = await eventually(within: .seconds(100)) { statuses.count == 304 }
        let areGivenBack = await eventually {
          Self.descriptors() <= before + 8
        }
        let succeeded = statuses.entries.allSatisfy { $0 == 0 }
        exit(ended && succeeded && areGivenBack ? EXIT_SUCCESS : EXIT_FAILURE)
      }
    }
  #endif
}
