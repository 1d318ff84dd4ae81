#if PROPERATIONS_AS_ON_DARWIN && !canImport(Darwin)

  import Foundation
  import Futures
  import TestSupport
  import Testing

  /// The library drains what user code autoreleases.
  ///
  /// See `releasingAutoreleased(_:)`. On Linux, with the flag, it counts the pools of a
  /// thread.
  @Suite("Autorelease pools around user code", .timeLimit(.minutes(5)))
  struct AutoreleasePoolTests {
    @Test("Closures and handlers run in a pool, in every context")
    func closures() async throws {
      #expect(AutoreleasePools.count == 0)
      let promise = Promise<Int>()
      let counts = Promises.collect([
        promise.mapToValue(on: .inline) { _ in AutoreleasePools.count },
        promise.mapToValue(on: .global()) { _ in AutoreleasePools.count },
        promise.mapToValue(on: OperationQueue()) { _ in AutoreleasePools.count },
      ])
      promise.succeed(with: 1)
      #expect(try await counts.value == [1, 1, 1])
      let pools = Log<Int>()
      promise.onSuccess(on: .inline) { _ in pools.append(AutoreleasePools.count) }
      #expect(pools.entries == [1])
      #expect(AutoreleasePools.count == 0)
    }

    @Test("Handlers of cancellation run in a pool: before, during and after the cancellation")
    func cancellation() {
      let pools = Log<Int>()
      let promise = Promise<Int>()
      promise.onCancellationRequest { pools.append(AutoreleasePools.count) }
      promise.cancel()
      promise.onCancellationRequest { pools.append(AutoreleasePools.count) }
      #expect(pools.entries == [1, 1])
    }

    @Test("The handlers of an async closure run in a pool when its future is cancelled")
    func asyncClosure() async {
      let (pools, started, ended) = (Log<Int>(), Event(), Event())
      let future = Promises.async {
        await withTaskCancellationHandler {
          started.signal()
          _ = await ended.opened()
        } onCancel: {
          pools.append(AutoreleasePools.count)
          ended.signal()
        }
      }
      await started.opened()
      future.cancel()
      await ended.opened()
      #expect(pools.entries == [1])
    }
  }

#endif
