import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// A tie to something that lives long costs nothing once the other side is gone.
///
/// Each test measures the memory of a process of its own.
@Suite(
  .enabled(if: isStressing),
  .enabled(if: ResidentMemory.bytes != nil, "the system does not tell the memory in use"),
  .timeLimit(.minutes(5)), .serialized)
struct TieMemoryTests {
  /// Ends the process, as failed, if doing something very often takes memory.
  @Sendable private static func demandNoGrowth(_ tie: () -> Void) {
    for _ in 0..<20_000 { tie() }
    let before = ResidentMemory.bytes
    for _ in 0..<times(400_000) { tie() }
    // 56 bytes each would be 22 MB.
    guard let before, let now = ResidentMemory.bytes else { exit(EXIT_FAILURE) }
    if now - before > 6_000_000 { exit(EXIT_FAILURE) }
  }

  #if os(Linux) || os(macOS)
    @Test func `operations that are dropped leave nothing in the future they were tied to`() async {
      await #expect(processExitsWith: .success) {
        let longLived = Promise<Int>()
        Self.demandNoGrowth { BlockOperation {}.cancel(onFailureOf: longLived) }
      }
    }

    @Test func `scopes that are released leave nothing in their futures`() async {
      await #expect(processExitsWith: .success) {
        let longLived = Promise<Int>()
        Self.demandNoGrowth { longLived.cancelled(by: CancellationScope()) }
      }
    }

    @Test func `futures that have settled leave nothing in the future they were tied to`() async {
      await #expect(processExitsWith: .success) {
        let longLived = Promise<Int>()
        Self.demandNoGrowth {
          let promise = Promise<Int>()
          promise.cancel(onFailureOf: longLived)
          promise.succeed(with: 1)
        }
      }
    }

    @Test func `operations that have finished leave nothing in the future they were tied to`()
      async
    {
      await #expect(processExitsWith: .success) {
        let longLived = Promise<Int>()
        Self.demandNoGrowth {
          let operation = BlockOperation {}
          operation.cancel(onFailureOf: longLived)
          operation.start()
        }
      }
    }

    @Test func `futures tied to the end of a future leave nothing there once they have settled`()
      async
    {
      await #expect(processExitsWith: .success) {
        let longLived = Promise<Int>()
        Self.demandNoGrowth {
          let promise = Promise<Int>()
          promise.cancel(onFinishOf: longLived)
          promise.succeed(with: 1)
        }
      }
    }

    @Test func `futures tied to the end of an operation leave nothing there once they are gone`()
      async
    {
      await #expect(processExitsWith: .success) {
        let longLived = BlockOperation {}
        Self.demandNoGrowth { Promise<Int>().cancel(onFinishOf: longLived) }
      }
    }

    @Test func `operations that depend on a future and are dropped leave nothing there`() async {
      await #expect(processExitsWith: .success) {
        let longLived = Promise<Int>()
        Self.demandNoGrowth { BlockOperation {}.addDependency(longLived) }
      }
    }

    @Test func `futures cancelled by a scope leave nothing there once they have settled`() async {
      await #expect(processExitsWith: .success) {
        let longLived = CancellationScope()
        Self.demandNoGrowth {
          let promise = Promise<Int>()
          promise.cancelled(by: longLived)
          promise.succeed(with: 1)
        }
      }
    }

    @Test func `consumers that are cancelled leave nothing in a future that somebody else wants`()
      async
    {
      await #expect(processExitsWith: .success) {
        let longLived = Promise<Int>()
        let other = longLived.mapToValue(on: .inline) { $0 }
        Self.demandNoGrowth { longLived.mapToValue(on: .inline) { $0 }.cancel() }
        withExtendedLifetime(other) {}
      }
    }
  #endif
}
