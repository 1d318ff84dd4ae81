import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

#if os(Linux)
  @Suite("Releasing processes", .timeLimit(.minutes(5)), .oneAtATime)
  struct ProcessReleaseTests {
    private static var openDescriptors: Int {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    @Test("200 commands, from several queues: no process and no file handle is left")
    func descriptors() async {
      await #expect(processExitsWith: .success) {
        let queues = (0..<8).map { _ in OperationQueue.make() }
        demand(try await Process.shell("exit 0").runAsFuture(in: queues[0]).value == 0)
        let before = Self.openDescriptors
        let references = try await Self.run(200, on: queues)
        demand(await eventually { references.allSatisfy { $0.isGone } })
        demand(await eventually { Self.openDescriptors <= before + 6 })
      }
    }

    @Test("A limit of 64 more file handles: 200 commands one after the other succeed")
    func limited() async {
      await #expect(processExitsWith: .success) {
        // (A process may inherit some.)
        let count = rlim_t(Self.openDescriptors + 64)
        var limit = rlimit(rlim_cur: count, rlim_max: count)
        demand(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        for _ in 0..<200 {
          demand(try await Process.shell("exit 0").runAsFuture().value == 0)
        }
      }
    }

    private static func run(
      _ count: Int, on queues: [OperationQueue]
    ) async throws -> [WeakReference] {
      let processes = (0..<count).map { _ in Process.shell("exit 0") }
      let futures = processes.enumerated().map {
        $0.element.runAsFuture(in: queues[$0.offset % queues.count])
      }
      demand(try await Promises.collect(futures).value.allSatisfy { $0 == 0 })
      return processes.map { WeakReference($0) }
    }
  }
#endif
