#if PROPERATIONS_AS_ON_DARWIN && !canImport(Darwin)

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport
  import Testing

  @Suite("Autorelease pools around async closures of queues", .timeLimit(.minutes(5)))
  struct AutoreleasePoolTests {
    @Test("The handlers of a cancelled async closure run in a pool")
    func asyncRun() async {
      let (pools, started, ended) = (Log<Int>(), Event(), Event())
      let future = OperationQueue().run {
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
