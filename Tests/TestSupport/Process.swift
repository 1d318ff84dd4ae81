#if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
  import Foundation
  import Futures

  /// Stands for Foundation's class where no program can start another one.
  ///
  /// So the tests of the example programs compile for every platform. Where they start a
  /// program, they fail.
  package final class Process: @unchecked Sendable {
    // Sendable: it never runs, so no other thread uses it.
    package enum TerminationReason: Sendable { case exit, uncaughtSignal }

    package var executableURL: URL?
    package var arguments: [String]?
    package var currentDirectoryURL: URL?
    package var standardInput: Any?
    package var standardOutput: Any?
    package var standardError: Any?
    package let processIdentifier: Int32 = 0
    package let terminationStatus: Int32 = 0
    package let terminationReason = TerminationReason.exit

    package init() {}

    package func run() throws { throw POSIXError(.ENOSYS) }

    package func waitUntilExit() {}

    package func runAsFuture() -> Future<Int32> { Promises.makeFailed(with: POSIXError(.ENOSYS)) }
  }
#endif
